package source_test

import (
	"testing"

	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// TestToy: rules have limits of TOY.
func TestToy(t *testing.T) {
	if l, err := source.ParseLimit("5/minute toy grace 1"); err != nil || l.Alg != engine.Toy || l.Count != 5 {
		t.Errorf("got %+v, %v", l, err)
	}
	want := "burst is for token and leaky, got it for toy"
	if _, err := source.ParseLimit("5/minute toy burst 9"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
