package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// RequireProtection returns an error if other machines can reach the address, unless it
// is protected: clients must authenticate there, or the operator has allowed open access.
// If the host is a name it asks the resolver. The error names the option of the address
// and ends in the remedy.
func RequireProtection(option, listen string, protected bool, remedy string) error {
	if listen == "" || protected {
		return nil
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("%s %q: want HOST:PORT: %w", option, listen, err)
	}
	if isLoopback(host) {
		return nil
	}
	return fmt.Errorf("%s %q can be reached from other machines: %s", option, listen, remedy)
}

// isLoopback reports whether all addresses of host are loopback addresses. An empty host
// stands for every address.
func isLoopback(host string) bool {
	addrs, err := net.LookupIP(host)
	if host == "" || err != nil {
		return false
	}
	for _, a := range addrs {
		if !a.IsLoopback() {
			return false
		}
	}
	return true
}

// unixPrefix marks the path of a unix socket where an address may be either.
const unixPrefix = "unix:"

// IsUnix reports whether an address for Listen is the path of a unix socket.
func IsUnix(address string) bool { return strings.HasPrefix(address, unixPrefix) }

// Listen binds HOST:PORT, or unix:PATH for a socket that only the process's user may
// connect to, as a Server does by default.
func Listen(address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		return listenUnix(path, defaultSocketPerm)
	}
	return listenTCP(address, defaultKeepAlive)
}

// listenTCP binds the address. Port 0 takes a free port.
func listenTCP(addr string, keepAlive time.Duration) (net.Listener, error) {
	lc := net.ListenConfig{KeepAlive: keepAlive}
	ln, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, errnoOf(err))
	}
	return ln, nil
}

// listenUnix binds the path and sets the permissions of the socket, if the system allows
// before a client can connect. A socket file without a listener is replaced; a socket in
// use is an error.
func listenUnix(path string, perm fs.FileMode) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, fmt.Errorf("listen on unix socket %s: %w", path, err)
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		// Linux gives the file the mode that the socket has when it is bound. If this
		// fails, Chmod below sets the mode a moment later.
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), uint32(perm)) })
	}}
	ln, err := lc.Listen(context.Background(), "unix", path)
	if err == nil {
		if err = os.Chmod(path, perm); err != nil {
			ln.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen on unix socket %s: %w", path, errnoOf(err))
	}
	return ln, nil
}

// removeStale removes the socket file at path if no server listens there.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return errnoOf(err)
	case info.Mode()&fs.ModeSocket == 0:
		return errors.New("a file of this name exists and is not a socket")
	}
	nc, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		nc.Close()
		return syscall.EADDRINUSE
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	}
	return errnoOf(err)
}

// errnoOf returns the system's error inside an error of package net, which repeats the
// address.
func errnoOf(err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno
	}
	return err
}
