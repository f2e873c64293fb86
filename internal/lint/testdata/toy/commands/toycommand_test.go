package commands

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"limitsrv/commands/session"
)

// TestToyCommand runs the script of TOY, which the test of package lint cannot put into testdata.
func TestToyCommand(t *testing.T) {
	s := &script{h: newTestHandler(""), sessions: map[string]*session.Session{}}
	datadriven.RunTest(t, "../internal/lint/testdata/toy/commands/toy.txt", s.do)
}
