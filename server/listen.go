package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// RequireProtection refuses an address that other machines can reach, unless it is
// protected: who connects there must show who they are, or the operator says that it is
// meant. It asks the resolver if the host is a name. The error names the option that the
// address is of, and ends in the remedy.
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

// isLoopback says whether all addresses of host are this machine's own only. No
// host is every address.
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

// listenTCP binds the address. Port 0 takes a free one.
func listenTCP(addr string, keepAlive time.Duration) (net.Listener, error) {
	lc := net.ListenConfig{KeepAlive: keepAlive}
	ln, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, errnoOf(err))
	}
	return ln, nil
}

// listenUnix binds the path and gives the socket the permissions, before anybody
// can connect where the system allows. The file of a server that is gone is
// replaced; that of a live one is an error.
func listenUnix(path string, perm fs.FileMode) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, fmt.Errorf("listen on unix socket %s: %w", path, err)
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		// Linux gives the file the mode that the socket has when it is bound. Where
		// this fails, Chmod below still does it, a moment later.
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

// removeStale removes the socket file at path if nobody listens there any more.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return errnoOf(err)
	case info.Mode()&fs.ModeSocket == 0:
		return errors.New("there is a file of this name that is no socket")
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

// bare is the error of the system under those of package net, which repeat the
// address.
func errnoOf(err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno
	}
	return err
}
