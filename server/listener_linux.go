package server

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"
)

// A listener is a listening socket without the runtime's poller, which would wake up a
// thread for each connection that event loops accept.
type listener struct {
	fd    int
	addr  net.Addr
	local string // this end of all connections; "": it depends on the connection
	path  string // the file of a unix socket; "": another socket
}

// newListener takes the socket of ln, which must not be used again. The connections inherit
// its options; a negative keepAlive means no keepalive.
func newListener(ln net.Listener, keepAlive time.Duration) (*listener, error) {
	l := &listener{addr: ln.Addr()}
	switch ln := ln.(type) {
	case *net.UnixListener:
		l.path = l.addr.String()
		l.local = l.path + ":0" // both ends, because the client's has no name
		ln.SetUnlinkOnClose(false)
	case *net.TCPListener:
		if !l.addr.(*net.TCPAddr).IP.IsUnspecified() {
			l.local = l.addr.String()
		}
	}
	defer ln.Close()
	var err error
	if l.fd, err = duplicate(ln); err != nil {
		return nil, err
	}
	if l.path == "" {
		if err := setOptions(l.fd, keepAlive); err != nil {
			_ = syscall.Close(l.fd)
			return nil, err
		}
	}
	return l, nil
}

// duplicate returns a duplicate of the descriptor of a listener or a connection.
func duplicate(of any) (fd int, err error) {
	sc, ok := of.(syscall.Conn)
	if !ok {
		return 0, fmt.Errorf("a %T has no descriptor", of)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0, err
	}
	var errno syscall.Errno
	err = raw.Control(func(old uintptr) {
		var r uintptr
		r, _, errno = syscall.Syscall(syscall.SYS_FCNTL, old, syscall.F_DUPFD_CLOEXEC, 0)
		fd = int(r)
	})
	if err == nil && errno != 0 {
		err = os.NewSyscallError("fcntl", errno)
	}
	return fd, err
}

// Keep-alive of package net, besides the time until the first probe.
const (
	keepAliveInterval = 15 * time.Second
	keepAliveProbes   = 9
)

// setOptions sets the options of a TCP socket.
func setOptions(fd int, keepAlive time.Duration) error {
	options := [][3]int{{syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1}}
	if keepAlive >= 0 {
		options = append(options,
			[3]int{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
			[3]int{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, max(1, int(keepAlive/time.Second))},
			[3]int{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, int(keepAliveInterval / time.Second)},
			[3]int{syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, keepAliveProbes})
	}
	for _, o := range options {
		if err := syscall.SetsockoptInt(fd, o[0], o[1], o[2]); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	return nil
}

// accept returns the nonblocking descriptor of a connection, and the addresses of its
// ends. It does not block: without a connection the error is EAGAIN.
func (ln *listener) accept() (fd int, client, local string, err error) {
	fd, peer, err := syscall.Accept4(ln.fd, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
	switch {
	case err != nil:
		return -1, "", "", err
	case ln.path != "":
		return fd, ln.local, ln.local, nil
	case ln.local != "":
		return fd, addressOf(peer), ln.local, nil
	}
	own, err := syscall.Getsockname(fd)
	if err != nil {
		_ = syscall.Close(fd)
		return -1, "", "", err
	}
	return fd, addressOf(peer), addressOf(own), nil
}

// addressOf returns a TCP address as package net shows it.
func addressOf(sa syscall.Sockaddr) string {
	switch sa := sa.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)).String()
	case *syscall.SockaddrInet6:
		addr := netip.AddrFrom16(sa.Addr).Unmap()
		if sa.ZoneId != 0 {
			addr = addr.WithZone(zoneName(int(sa.ZoneId)))
		}
		return netip.AddrPortFrom(addr, uint16(sa.Port)).String()
	}
	return ""
}

// zoneName returns the name of the network interface of a link-local address.
func zoneName(index int) string {
	if ifi, err := net.InterfaceByIndex(index); err == nil {
		return ifi.Name
	}
	return strconv.Itoa(index)
}

// close closes the socket, and removes its file.
func (ln *listener) close() {
	_ = syscall.Close(ln.fd)
	if ln.path != "" {
		_ = os.Remove(ln.path)
	}
}
