package server

import (
	"os"
	"syscall"
	"unsafe"
)

// maxEvents is the number of ready descriptors taken at a wake-up.
const maxEvents = 256

// A poller is a level-triggered epoll instance with a pipe to wake it up.
// Level-triggered, one read per request is enough; edge-triggered, a second read would
// have to find nothing.
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

// add registers a descriptor for events.
func (p *poller) add(fd int, events uint32) error {
	e := syscall.EpollEvent{Events: events, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_ADD, fd, &e))
}

// modify changes the events of a registered descriptor. This cannot fail.
func (p *poller) modify(fd int, events uint32) {
	e := syscall.EpollEvent{Events: events, Fd: int32(fd)}
	_ = syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_MOD, fd, &e)
}

// remove unregisters a descriptor completely, because epoll would otherwise report its
// hang-up again and again.
func (p *poller) remove(fd int) {
	_ = syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_DEL, fd, nil)
}

// wait returns the ready events. If block is set it returns at least one, unless a signal
// came. It polls first without notifying the scheduler, which is cheap, and makes a
// blocking system call only if nothing is ready.
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

// wake makes wait return an event of wakeFD. Concurrency: any goroutine.
func (p *poller) wake() {
	_, _ = syscall.Write(p.pipe[1], []byte{0}) // if the pipe is full, wait returns anyway
}

// wakeFD is the descriptor that wake makes readable, until drainWake.
func (p *poller) wakeFD() int { return p.pipe[0] }

func (p *poller) drainWake() {
	var b [16]byte
	_, _ = syscall.Read(p.wakeFD(), b[:])
}

// readNow reads from a nonblocking descriptor without notifying the scheduler. Requires:
// p is not empty. Zero bytes without an error mean the end of the input.
func readNow(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// writeNow writes to a nonblocking descriptor without notifying the scheduler. Requires:
// p is not empty.
func writeNow(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
