package server

import (
	"math"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// System calls, flags and operations of io_uring, which package syscall does not have.
const (
	sysRingSetup    = 425
	sysRingEnter    = 426
	sysRingRegister = 427

	ringCQSize       = 1 << 3
	ringSubmitAll    = 1 << 7
	ringSingleIssuer = 1 << 12
	ringDeferTasks   = 1 << 13
	ringNoSQArray    = 1 << 16

	enterGetEvents  = 1 << 0
	enterRegistered = 1 << 4

	registerRingFD   = 20
	unregisterRingFD = 21
	registerBuffers  = 22
	bufferIncrement  = 2

	opPollAdd = 6
	opCancel  = 14
	opSend    = 26
	opRecv    = 27

	recvMultishot = 1 << 1 // submission.priority of opRecv
	selectBuffer  = 1 << 5 // submission.flags

	cqeHasBuffer  = 1 << 0
	cqeMore       = 1 << 1
	cqeBufferMore = 1 << 4

	mmapSQEs = 0x10000000
)

// Sizes of a ring. A completion queue that overflows loses nothing, but costs.
const (
	ringSubmissions = 1024
	ringCompletions = 16384
	ringBuffers     = 8
	ringRun         = 20 // receives that the kernel completes in a call
	ringBufferBytes = 64 << 10
)

// A submission is struct io_uring_sqe of the kernel.
type submission struct {
	op, flags uint8
	priority  uint16
	fd        int32
	offset    uint64
	addr      uint64
	len       uint32
	opFlags   uint32
	tag       uint64
	group     uint16
	_         [22]byte
}

// A completion is struct io_uring_cqe.
type completion struct {
	tag   uint64
	res   int32 // an errno if negative
	flags uint32
}

// buffer returns the number of the buffer that holds the received bytes.
func (c completion) buffer() int { return int(c.flags >> 16) }

type ringOffsets struct {
	head, tail, mask, entries, flags, dropped, array, _ uint32
	_                                                   uint64
}

type ringParams struct {
	sqEntries, cqEntries, flags, _, _, features, _ uint32
	_                                              [3]uint32
	sq, cq                                         ringOffsets // of cq, array is flags, and dropped cqes
}

// A ring is an io_uring with provided buffers, into which the kernel receives. Concurrency:
// one goroutine, locked to its thread, calls all methods.
type ring struct {
	fd        int
	index     int // registered, for enter
	memory    [2][]byte
	sqHead    *uint32
	sqTail    *uint32
	cqHead    *uint32
	cqTail    *uint32
	sqes      []submission
	cqes      []completion
	tail      uint32 // of the submission queue, including those not submitted yet
	submitted uint32

	bufferRing []byte
	buffers    []byte
	taken      [ringBuffers]int // bytes of each buffer that have been received into
	bufferTail uint16
	returned   []int // buffers to be given back when nothing refers to them

	pending []completion // moved out of the queue, to be handled at the next wake-up
	sent    []int32      // results of the sends under way, by tag
}

// openRing opens a ring for the calling thread.
func openRing() (*ring, error) {
	p := ringParams{cqEntries: ringCompletions, flags: ringCQSize | ringSubmitAll | ringSingleIssuer | ringDeferTasks | ringNoSQArray}
	fd, _, errno := syscall.Syscall(sysRingSetup, ringSubmissions, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, os.NewSyscallError("io_uring_setup", errno)
	}
	r := &ring{fd: int(fd), index: -1}
	if err := r.open(&p); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *ring) open(p *ringParams) (err error) {
	cqes := p.cq.dropped
	for i, m := range [...]struct {
		offset int64
		size   int
	}{{0, int(cqes) + int(p.cqEntries)*int(unsafe.Sizeof(completion{}))}, {mmapSQEs, int(p.sqEntries) * int(unsafe.Sizeof(submission{}))}} {
		r.memory[i], err = syscall.Mmap(r.fd, m.offset, m.size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_POPULATE)
		if err != nil {
			return os.NewSyscallError("mmap", err)
		}
	}
	at := func(offset uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.memory[0][offset])) }
	r.sqHead, r.sqTail, r.cqHead, r.cqTail = at(p.sq.head), at(p.sq.tail), at(p.cq.head), at(p.cq.tail)
	r.cqes = unsafe.Slice((*completion)(unsafe.Pointer(&r.memory[0][cqes])), p.cqEntries)
	r.sqes = unsafe.Slice((*submission)(unsafe.Pointer(&r.memory[1][0])), p.sqEntries)

	update := ringUpdate{offset: ^uint32(0), fd: uint64(r.fd)}
	if err := r.register(registerRingFD, unsafe.Pointer(&update)); err != nil {
		return err
	}
	r.index = int(update.offset)
	return r.openBuffers()
}

// openBuffers registers the buffers, which the kernel fills one after the other.
func (r *ring) openBuffers() (err error) {
	const entry = 16
	for _, m := range [...]struct {
		memory *[]byte
		size   int
	}{{&r.bufferRing, ringBuffers * entry}, {&r.buffers, ringBuffers * ringBufferBytes}} {
		*m.memory, err = syscall.Mmap(-1, 0, m.size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			return os.NewSyscallError("mmap", err)
		}
	}
	arg := struct {
		addr         uint64
		entries      uint32
		group, flags uint16
		_            [3]uint64
	}{addr: uint64(uintptr(unsafe.Pointer(&r.bufferRing[0]))), entries: ringBuffers, flags: bufferIncrement}
	if err := r.register(registerBuffers, unsafe.Pointer(&arg)); err != nil {
		return err
	}
	for i := range ringBuffers {
		r.returned = append(r.returned, i)
	}
	r.giveBack()
	return nil
}

func (r *ring) register(what uintptr, arg unsafe.Pointer) error {
	_, _, errno := syscall.Syscall6(sysRingRegister, uintptr(r.fd), what, uintptr(arg), 1, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("io_uring_register", errno)
	}
	return nil
}

// A ringUpdate is struct io_uring_rsrc_update: the thread's index of a ring's descriptor.
type ringUpdate struct {
	offset, _ uint32
	fd        uint64
}

// close ends all operations under way.
func (r *ring) close() {
	if r.index >= 0 {
		_ = r.register(unregisterRingFD, unsafe.Pointer(&ringUpdate{offset: uint32(r.index)}))
	}
	_ = syscall.Close(r.fd)
	for _, m := range [...][]byte{r.memory[0], r.memory[1], r.bufferRing, r.buffers} {
		if m != nil {
			_ = syscall.Munmap(m)
		}
	}
}

// giveBack lets the kernel fill the returned buffers again. Requires: nothing refers to them.
func (r *ring) giveBack() {
	for _, i := range r.returned {
		e := r.bufferRing[16*(int(r.bufferTail)%ringBuffers):]
		*(*uint64)(unsafe.Pointer(&e[0])) = uint64(uintptr(unsafe.Pointer(&r.buffers[i*ringBufferBytes])))
		*(*uint32)(unsafe.Pointer(&e[8])) = ringBufferBytes
		*(*uint16)(unsafe.Pointer(&e[12])) = uint16(i)
		r.taken[i] = 0
		r.bufferTail++
	}
	r.returned = r.returned[:0]
	// The tail is the second half of a word, of which the kernel does not use the first.
	word := (*uint32)(unsafe.Pointer(&r.bufferRing[12]))
	atomic.StoreUint32(word, atomic.LoadUint32(word)&0xffff|uint32(r.bufferTail)<<16)
}

// received returns the bytes of a completed receive, which are valid until giveBack.
func (r *ring) received(c completion) []byte {
	if c.flags&cqeHasBuffer == 0 {
		return nil
	}
	i := c.buffer()
	from := i*ringBufferBytes + r.taken[i]
	n := max(0, int(c.res))
	r.taken[i] += n
	if c.flags&cqeBufferMore == 0 {
		r.returned = append(r.returned, i)
	}
	return r.buffers[from : from+n : from+n]
}

// next returns an empty submission.
func (r *ring) next() *submission {
	if r.tail-atomic.LoadUint32(r.sqHead) == uint32(len(r.sqes)) {
		r.submit()
	}
	s := &r.sqes[r.tail&uint32(len(r.sqes)-1)]
	r.tail++
	*s = submission{}
	return s
}

// submit passes the submissions to the kernel, which completes sends at once.
func (r *ring) submit() {
	for r.tail != r.submitted {
		if errno := r.enter(0); errno != 0 && errno != syscall.EINTR {
			r.collect()
			_ = r.run()
		}
	}
}

// run lets the kernel complete receives.
func (r *ring) run() syscall.Errno { return r.enter(enterGetEvents) }

// wait waits for a completion.
func (r *ring) wait() syscall.Errno {
	_, _, errno := syscall.Syscall6(sysRingEnter, uintptr(r.index), r.unsubmitted(), 1, enterGetEvents|enterRegistered, 0, 0)
	r.submitted = atomic.LoadUint32(r.sqHead)
	return errno
}

func (r *ring) unsubmitted() uintptr {
	atomic.StoreUint32(r.sqTail, r.tail)
	return uintptr(r.tail - r.submitted)
}

// enter submits, without notifying the scheduler.
func (r *ring) enter(flags uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(sysRingEnter, uintptr(r.index), r.unsubmitted(), 0, flags|enterRegistered, 0, 0)
	r.submitted = atomic.LoadUint32(r.sqHead)
	return errno
}

// tagSend marks the tags of sends. noResult is the result of one that is not complete.
const (
	tagSend  = 1 << 63
	noResult = math.MinInt32
)

// collect moves the completions out of the kernel's queue: those of sends to r.sent, others to
// r.pending.
func (r *ring) collect() {
	head, tail := *r.cqHead, atomic.LoadUint32(r.cqTail)
	for ; head != tail; head++ {
		c := r.cqes[head&uint32(len(r.cqes)-1)]
		if c.tag&tagSend != 0 {
			r.sent[c.tag&^tagSend] = c.res
		} else {
			r.pending = append(r.pending, c)
		}
	}
	atomic.StoreUint32(r.cqHead, head)
}

// send queues a send of out, which stays unchanged until results.
func (r *ring) send(fd int, out []byte) {
	s := r.next()
	s.op, s.fd, s.addr, s.len = opSend, int32(fd), uint64(uintptr(unsafe.Pointer(&out[0]))), uint32(len(out))
	s.opFlags, s.tag = syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL, tagSend|uint64(len(r.sent))
	r.sent = append(r.sent, noResult)
	runtime.KeepAlive(out)
}

// results submits the sends and returns their results, in order.
func (r *ring) results() []int32 {
	r.submit()
	r.collect()
	for slices.Contains(r.sent, noResult) { // the queue was full: the kernel still has the rest
		_ = r.run()
		r.collect()
	}
	sent := r.sent
	r.sent = r.sent[:0]
	return sent
}
