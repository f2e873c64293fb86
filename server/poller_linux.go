package server

import (
	"os"
	"syscall"
	"unsafe"
)

// maxEvents is how many ready descriptors are taken at a wake-up.
const maxEvents = 256

// A poller is an epoll instance, level-triggered, and a pipe that wakes it up.
// Level-triggered one read a request suffices, where edge-triggered a second one
// would have to find nothing.
type poller struct {
	fd     int
	pipe   [2]int
	events [maxEvents]syscall.EpollEvent
}

func (p *poller) open() error {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	p.fd = fd
	if err := syscall.Pipe2(p.pipe[:], syscall.O_NONBLOCK|syscall.O_CLOEXEC); err != nil {
		_ = syscall.Close(p.fd)
		return os.NewSyscallError("pipe2", err)
	}
	if err := p.add(p.wakeFD(), syscall.EPOLLIN); err != nil {
		p.close()
		return err
	}
	return nil
}

func (p *poller) close() {
	for _, fd := range [...]int{p.fd, p.pipe[0], p.pipe[1]} {
		_ = syscall.Close(fd)
	}
}

// add watches a descriptor for some events.
func (p *poller) add(fd int, events uint32) error {
	e := syscall.EpollEvent{Events: events, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_ADD, fd, &e))
}

// change watches a descriptor, which is watched, for other events. It can not fail
// on one that is.
func (p *poller) modify(fd int, events uint32) {
	e := syscall.EpollEvent{Events: events, Fd: int32(fd)}
	_ = syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_MOD, fd, &e)
}

// remove watches a descriptor no more, not even for its end, which epoll would
// otherwise report again and again.
func (p *poller) remove(fd int) {
	_ = syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_DEL, fd, nil)
}

// wait returns what is ready; if it may block, at least one event unless a signal
// came. It asks first without telling the scheduler, which is cheap, and goes the way of a
// blocking system call only if there is nothing to do.
func (p *poller) wait(block bool) []syscall.EpollEvent {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events)), maxEvents, 0, 0, 0)
	if errno == 0 && n == 0 && block {
		const forever = ^uintptr(0)
		n, _, errno = syscall.Syscall6(syscall.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events)), maxEvents, forever, 0, 0)
	}
	if errno != 0 {
		return nil
	}
	return p.events[:n]
}

// wake makes wait return an event of the bell. Any goroutine may call it.
func (p *poller) wake() {
	_, _ = syscall.Write(p.pipe[1], []byte{0}) // if the pipe is full, wait returns anyhow
}

// bell is the descriptor that wake makes ready, until hush.
func (p *poller) wakeFD() int { return p.pipe[0] }

func (p *poller) drainWake() {
	var b [16]byte
	_, _ = syscall.Read(p.wakeFD(), b[:])
}

// readNow reads from a nonblocking descriptor without telling the scheduler.
// Requires that p is not empty. No bytes and no error is the end.
func readNow(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// writeNow writes to a nonblocking descriptor without telling the scheduler.
// Requires that p is not empty.
func writeNow(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
