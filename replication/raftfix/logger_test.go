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
		level   hclog.Level
		message string
		err     error
		want    string // the level, "" if it is not logged
	}{
		{hclog.Error, "failed to decode incoming command", errors.New("refused"), "WARN"},
		{hclog.Error, "failed to decode incoming command", io.EOF, "WARN"},
		{hclog.Warn, "failed to decode incoming command", errors.New("refused"), "INFO"},
		{hclog.Info, "failed to decode incoming command", errors.New("refused"), "DEBUG"},
		{hclog.Debug, "failed to decode incoming command", errors.New("refused"), ""},
		{hclog.Error, "failed to decode incoming command", raft.ErrTransportShutdown, "DEBUG"},
		{hclog.Error, "failed to decode incoming command", ownEnd, "DEBUG"},
		{hclog.Error, "peer has newer term, stopping replication", nil, "DEBUG"},
		{hclog.Warn, "failed to get previous log", raft.ErrLogNotFound, "DEBUG"},
	} {
		var log bytes.Buffer
		to := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		NewLogger(to, func(string) bool { return true }).Log(tt.level, tt.message, "error", tt.err)
		if got := log.String(); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%v %q with %v is logged as %q, want the level %q", tt.level, tt.message, tt.err, got, tt.want)
		}
	}
}
