package commands

import "testing"

// The address is the one that the client connected to.
func TestEmulatedAddress(t *testing.T) {
	for _, tt := range []struct {
		local, host string
		port        int
	}{
		{"127.0.0.1:6379", "127.0.0.1", 6379},
		{"[::1]:7000", "::1", 7000},
		{"/run/limitsrv.sock:0", "", 0},
		{"", "", 0},
	} {
		n := testCluster.Nodes(tt.local)[0]
		if n.Host != tt.host || n.Port != tt.port {
			t.Errorf("Nodes(%q) = %q, %d, want %q, %d", tt.local, n.Host, n.Port, tt.host, tt.port)
		}
	}
}
