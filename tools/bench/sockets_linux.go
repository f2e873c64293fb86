package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// sockets are the connections of a load, for a thread that waits for all of them at once by
// epoll(7).
//
// Concurrency: not safe for concurrent use.
type sockets struct {
	conns  []*loadConn
	fds    []int // of the same connections
	epoll  int
	events [maxEvents]syscall.EpollEvent
}

const (
	// maxEvents is the highest number of connections that a call of receive reads.
	maxEvents = 128
	// sysEpollPwait2 waits for a time in nanoseconds (Linux 5.11).
	sysEpollPwait2 = 441
	// prSetTimerSlack is a command of prctl(2).
	prSetTimerSlack = 29
)

// newSockets takes conns over from the Go runtime, which would wake up for each reply as well.
func newSockets(conns []*loadConn) (*sockets, error) {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	s := &sockets{conns: conns, epoll: epoll}
	for i, c := range conns {
		fd, err := takeOver(c.conn.(*net.TCPConn))
		if err == nil {
			s.fds = append(s.fds, fd)
			event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)}
			err = os.NewSyscallError("epoll_ctl", syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, fd, &event))
		}
		if err != nil {
			s.close()
			return nil, fmt.Errorf("connection %d of %d: %w", i+1, len(conns), err)
		}
	}
	return s, nil
}

// takeOver closes conn and returns a blocking file descriptor of the same connection.
func takeOver(conn *net.TCPConn) (fd int, err error) {
	raw, err := conn.SyscallConn()
	if err == nil {
		var dupErr error
		err = raw.Control(func(old uintptr) { fd, dupErr = syscall.Dup(int(old)) })
		err = errors.Join(err, os.NewSyscallError("dup", dupErr))
	}
	if err != nil {
		return 0, err
	}
	syscall.CloseOnExec(fd)
	conn.Close()
	return fd, os.NewSyscallError("fcntl", syscall.SetNonblock(fd, false))
}

// preciseTimers makes the waits of this thread end in time, not up to 50 us later.
func preciseTimers() {
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, 1, 0)
}

// send sends b over connection i. It waits if the server does not read.
func (s *sockets) send(i int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(s.fds[i], b)
		if err != nil && err != syscall.EINTR {
			return os.NewSyscallError("write", err)
		}
		b = b[max(0, n):]
	}
	return nil
}

// receive waits for replies, at most until the given time, and calls each with the bytes
// that have arrived on a connection or the error of reading them. It returns the first error
// of each.
func (s *sockets) receive(until time.Time, each func(conn int, got []byte, err error) error) error {
	wait := syscall.NsecToTimespec(int64(max(0, time.Until(until))))
	n, _, errno := syscall.RawSyscall6(sysEpollPwait2, uintptr(s.epoll), uintptr(unsafe.Pointer(&s.events)), maxEvents,
		uintptr(unsafe.Pointer(&wait)), 0, 0)
	if errno == syscall.EINTR {
		return nil
	}
	if errno != 0 {
		return os.NewSyscallError("epoll_pwait2", errno)
	}
	for _, event := range s.events[:n] {
		i := int(event.Fd)
		size, err := syscall.Read(s.fds[i], s.conns[i].buf)
		err = os.NewSyscallError("read", err)
		if size == 0 && err == nil {
			err = io.ErrUnexpectedEOF
		}
		if err := each(i, s.conns[i].buf[:max(0, size)], err); err != nil {
			return err
		}
	}
	return nil
}

// close closes the connections.
func (s *sockets) close() {
	for _, fd := range s.fds {
		syscall.Close(fd)
	}
	syscall.Close(s.epoll)
}
