package server

import (
	"os"
	"syscall"
	"unsafe"
)

// maxEvents is the number of ready descriptors taken at a wake-up.
const maxEvents = 256

// An epoll is the descriptor of a level-triggered epoll instance. Level-triggered, a read
// per request is enough; edge-triggered, a second read would have to find nothing.
type epoll int

// add registers a descriptor for events.
func (p epoll) add(fd int, events uint32) error {
	e := syscall.EpollEvent{Events: events, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", syscall.EpollCtl(int(p), syscall.EPOLL_CTL_ADD, fd, &e))
}

// modify changes the events of a registered descriptor. This cannot fail.
func (p epoll) modify(fd int, events uint32) {
	e := syscall.EpollEvent{Events: events, Fd: int32(fd)}
	_ = syscall.EpollCtl(int(p), syscall.EPOLL_CTL_MOD, fd, &e)
}

// remove unregisters a descriptor completely, because epoll would otherwise report its
// hang-up again and again.
func (p epoll) remove(fd int) {
	_ = syscall.EpollCtl(int(p), syscall.EPOLL_CTL_DEL, fd, nil)
}

// poll returns the ready descriptors, at most len(into), without notifying the scheduler.
func (p epoll) poll(into []syscall.EpollEvent) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(p), uintptr(unsafe.Pointer(&into[0])),
		uintptr(len(into)), 0, 0, 0)
	return int(n), errno
}

// A poller waits for descriptors, and has a pipe to wake it up.
//
// A wake-up serves few of the unauthenticated connections. So they are in an epoll of their
// own, which is a descriptor in the first epoll. Otherwise the kernel would report all that
// are ready at each wake-up: the first commands of 9 000 connections at once cost 34 us of
// server CPU each, and cost 13 us.
type poller struct {
	main   epoll
	unauth epoll
	pipe   [2]int
	events [maxEvents]syscall.EpollEvent

	unauthEvents [maxUnauthPerTurn]syscall.EpollEvent
}

func (p *poller) open() error {
	for _, set := range [...]*epoll{&p.main, &p.unauth} {
		fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
		if err != nil {
			p.close()
			return os.NewSyscallError("epoll_create1", err)
		}
		*set = epoll(fd)
	}
	if err := syscall.Pipe2(p.pipe[:], syscall.O_NONBLOCK|syscall.O_CLOEXEC); err != nil {
		p.close()
		return os.NewSyscallError("pipe2", err)
	}
	for _, fd := range [...]int{p.wakeFD(), int(p.unauth)} {
		if err := p.main.add(fd, syscall.EPOLLIN); err != nil {
			p.close()
			return err
		}
	}
	return nil
}

// close closes the descriptors that open has opened; 0 is never such a descriptor.
func (p *poller) close() {
	for _, fd := range [...]int{int(p.main), int(p.unauth), p.pipe[0], p.pipe[1]} {
		if fd > 0 {
			_ = syscall.Close(fd)
		}
	}
}

// wait returns the ready events. If block is set it returns at least one event, unless a
// signal came. It polls first without notifying the scheduler, which is cheap, and makes a
// blocking system call only if nothing is ready, which it reports.
func (p *poller) wait(block bool) (ready []syscall.EpollEvent, blocked bool) {
	n, errno := p.main.poll(p.events[:])
	if errno == 0 && n == 0 && block {
		blocked = true
		const forever = ^uintptr(0)
		var r uintptr
		r, _, errno = syscall.Syscall6(syscall.SYS_EPOLL_PWAIT, uintptr(p.main), uintptr(unsafe.Pointer(&p.events)),
			maxEvents, forever, 0, 0)
		n = int(r)
	}
	if errno != 0 {
		return nil, blocked
	}
	return p.events[:n], blocked
}

// readyUnauth returns some of the unauthenticated connections that are ready, in turn.
func (p *poller) readyUnauth() []syscall.EpollEvent {
	n, errno := p.unauth.poll(p.unauthEvents[:])
	if errno != 0 {
		return nil
	}
	return p.unauthEvents[:n]
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
