package link

import (
	"fmt"
	"net"
	"strconv"
)

// CheckAddress checks that a node's address is HOST:PORT with a host that other nodes can
// dial. The error names option.
func CheckAddress(option, address string) error {
	host, port, err := net.SplitHostPort(address)
	if number, atoi := strconv.ParseUint(port, 10, 16); err != nil || atoi != nil || number == 0 || host == "" {
		return fmt.Errorf("%s must be HOST:PORT, as other nodes reach it, got %q", option, address)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("%s must name a host that other nodes reach, got %q", option, address)
	}
	return nil
}
