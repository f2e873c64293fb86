package main

import (
	"net"
	"testing"
)

// With an emulated cluster, the only node is the server itself.
func TestClusterEmulated(t *testing.T) {
	r := serve(t, "--cluster-mode", "emulated")
	_, port, err := net.SplitHostPort(r.address)
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, "tcp", r.address)
	asks(t, conn, "CLUSTER SLOTS\r\n", "*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n$9\r\n127.0.0.1\r\n:"+port+"\r\n$40\r\n")
}

func TestClusterOff(t *testing.T) {
	const refused = "-ERR This instance has cluster support disabled\r\n"
	asks(t, dial(t, "tcp", serve(t).address), "CLUSTER SLOTS\r\nREADONLY\r\n", refused+refused)
}
