package options

import (
	"io"
	"strings"
	"testing"
)

// TestFrontOptions gives a front each option that it refuses, and options that it takes.
func TestFrontOptions(t *testing.T) {
	const secret = "--cluster-secret=0123456789abcdef"
	for _, tt := range []struct {
		args []string
		want string // in the error; empty: no error
	}{
		{[]string{"--front", "10.0.0.1:7379", secret}, ""},
		{[]string{"--front", "127.0.0.1:7379,127.0.0.1:7380"}, ""},
		{[]string{"--front", "10.0.0.1:7379", secret, "--cluster-mode", "on", "--no-quorum", "deny", "--rls-http",
			"127.0.0.1:8081"}, ""},
		{[]string{"--front", "10.0.0.1:7379", secret, "--listen", "", "--unixsocket", "s", "--advertise", "a:1"}, ""},
		{[]string{"--front", "10.0.0.1:7379"}, "--front needs --cluster-secret-file"},
		{[]string{"--front", "127.0.0.1:7379", "--password", "x"}, "it has the power of a node"},
		{[]string{"--front", "7379", secret}, "--front must be HOST:PORT"},
		{[]string{"--front", "a:1", secret, "--raft", "b:1"}, "--raft is for a node with state"},
		{[]string{"--front", "a:1", secret, "--raft-bind", "b:1"}, "--raft-bind is for a node with state"},
		{[]string{"--front", "a:1", secret, "--peers", "b:1"}, "--peers is for a node with state"},
		{[]string{"--front", "a:1", secret, "--join", "b:1"}, "--join is for a node with state"},
		{[]string{"--front", "a:1", secret, "--data", "d"}, "--data is for a node with state"},
		{[]string{"--front", "a:1", secret, "--max-memory", "1mb"}, "--max-memory is for a node with state"},
		{[]string{"--front", "a:1", secret, "--on-full", "evict"}, "--on-full is for a node with state"},
		{[]string{"--front", "a:1", secret, "--rules", "r"}, "--rules is for a node with state"},
		{[]string{"--front", "a:1", secret, "--rules-file-wins"}, "--rules-file-wins is for a node with state"},
		{[]string{"--front", "a:1", secret, "--snapshot-log-bytes", "2mb"}, "--snapshot-log-bytes is for a node with state"},
		{[]string{"--front", "a:1", secret, "--test-clock"}, "--test-clock is for a node with state"},
		{[]string{"--front", "a:1", secret, "--no-quorum", "local"}, "a front has no state to decide by"},
		{[]string{"--front", "a:1", secret, "--cluster-mode", "emulated"}, "with --front it is on or off"},
		{[]string{"--front", "a:1", "--raft-tls-cert", "c"}, "go together"},
		{[]string{"--front", "a:1", "--cluster-secret", "short"}, "--cluster-secret: "},
		{[]string{"--front", "a:1", secret, "--cluster-secret-file", "f"}, "exclude each other"},
	} {
		_, err := Parse(tt.args, io.Discard)
		switch {
		case err == nil && tt.want != "":
			t.Errorf("%q is accepted, want an error with %q", tt.args, tt.want)
		case err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%q: %v, want %q", tt.args, err, tt.want)
		}
	}
}
