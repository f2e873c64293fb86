package freeport

import (
	"net"
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	seen := map[string]bool{}
	for range 20 {
		address, err := Address("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		if seen[address] {
			t.Fatalf("%s is given twice", address)
		}
		seen[address] = true
	}
	for address := range seen {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if port := listener.Addr().(*net.TCPAddr).Port; port < lowest || port > highest {
			t.Errorf("port %d, want one from %d to %d", port, lowest, highest)
		}
		listener.Close()
	}
}

func TestAddressOfNoHost(t *testing.T) {
	if address, err := Address("192.0.2.1"); err == nil || !strings.Contains(err.Error(), "192.0.2.1") {
		t.Errorf("a host that is not of this machine: %q, %v, want an error that names it", address, err)
	}
}
