package raftfix

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// TestLogger logs messages of raft, each with an error.
func TestLogger(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	_, ownEnd := listener.Accept()
	for _, tt := range []struct {
		level hclog.Level
		err   error
		want  string // the level, "" if it is not logged
	}{
		{hclog.Error, errors.New("refused"), "WARN"},
		{hclog.Error, io.EOF, "WARN"},
		{hclog.Warn, errors.New("refused"), "INFO"},
		{hclog.Info, errors.New("refused"), "DEBUG"},
		{hclog.Debug, errors.New("refused"), ""},
		{hclog.Error, raft.ErrTransportShutdown, "DEBUG"},
		{hclog.Error, ownEnd, "DEBUG"},
	} {
		var log bytes.Buffer
		to := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		NewLogger(to, func(string) bool { return true }).Log(tt.level, "failed to decode incoming command", "error", tt.err)
		if got := log.String(); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%v with %v is logged as %q, want the level %q", tt.level, tt.err, got, tt.want)
		}
	}
}
