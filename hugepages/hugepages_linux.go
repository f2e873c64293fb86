package hugepages

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"limitsrv/beat"
)

const (
	// interval is the time between two passes over the memory.
	interval = 5 * time.Second
	// duty is the divisor of the time in which memory is copied. Other page faults of the
	// process wait for a copy, of some 0.3 ms, and accesses to the copied memory too.
	duty = 20
	// passes is the number of passes after which memory that was moved is tried again: the
	// runtime may have returned a part of it to the system, and filled it since.
	passes = 256

	collapse   = 25 // MADV_COLLAPSE, of Linux 6.1
	entryBytes = 8  // of the page map, see proc_pid_pagemap(5)
	present    = 63 // the bit of an entry that says that the page is resident
	settings   = "/sys/kernel/mm/transparent_hugepage"
)

// A Mover moves filled memory of its process into huge pages. Concurrency: one goroutine.
type Mover struct {
	bytes   uintptr              // of a huge page
	pagemap *os.File             // an entry for each page of the address space
	entries []byte               // those of a block
	moved   map[uintptr]struct{} // blocks in huge pages, unless the runtime has divided one since
	passes  int
}

// New returns a Mover, or an error if the system has no huge pages for programs that ask for
// them.
func New() (*Mover, error) {
	enabled, err := os.ReadFile(path.Join(settings, "enabled"))
	if err != nil {
		return nil, err
	}
	if bytes.Contains(enabled, []byte("[never]")) {
		return nil, fmt.Errorf("%s/enabled is never, want madvise or always", settings)
	}
	text, err := os.ReadFile(path.Join(settings, "hpage_pmd_size"))
	if err != nil {
		return nil, err
	}
	size, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 32)
	if page := uint64(os.Getpagesize()); err != nil || size <= page || size%page != 0 {
		return nil, fmt.Errorf("%s/hpage_pmd_size is %q, want a multiple of the page size %d", settings, text, page)
	}
	m := &Mover{bytes: uintptr(size), entries: make([]byte, entryBytes*int(size)/os.Getpagesize()), moved: map[uintptr]struct{}{}}
	if m.pagemap, err = os.Open("/proc/self/pagemap"); err != nil { // mincore(2) is not in systemd's @system-service
		return nil, err
	}
	if err := m.try(); err != nil {
		return nil, errors.Join(err, m.pagemap.Close())
	}
	return m, nil
}

// try moves memory of its own, because an older kernel or a filter of system calls may refuse.
func (m *Mover) try() error {
	area, err := syscall.Mmap(-1, 0, int(2*m.bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	clear(area)
	block := m.firstBlock(uintptr(unsafe.Pointer(&area[0])))
	n, err := m.residents(block)
	switch {
	case err != nil:
	case n < m.pages():
		err = fmt.Errorf("%s: %d pages of %d that were filled are resident", m.pagemap.Name(), n, m.pages())
	default:
		err = os.NewSyscallError("madvise, which Linux 6.1 and later can do with MADV_COLLAPSE", advise(block, m.bytes))
	}
	return errors.Join(err, syscall.Munmap(area))
}

// Run moves memory that was filled since the last pass, in at most a twentieth of the time,
// until ctx ends.
func (m *Mover) Run(ctx context.Context) {
	beat.Every(ctx, interval, func() {
		m.pass(func(took time.Duration) bool { return wait(ctx, duty*took) })
	})
}

// wait reports whether ctx has not ended after d.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// pass moves all filled blocks of the process that it has not moved before. It calls moved with
// the time that each took, and ends when that returns false or the system has no huge pages
// left.
func (m *Mover) pass(moved func(took time.Duration) bool) {
	if m.passes++; m.passes%passes == 0 {
		clear(m.moved)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return // the next pass tries again
	}
	for line := range bytes.Lines(maps) {
		from, to, ok := anonymous(line)
		for block := m.firstBlock(from); ok && block+m.bytes <= to; block += m.bytes {
			if _, done := m.moved[block]; done || !m.filled(block) {
				continue
			}
			began := time.Now()
			switch err := advise(block, m.bytes); err {
			case nil:
				m.moved[block] = struct{}{}
			case syscall.ENOMEM:
				return
			}
			if !moved(time.Since(began)) {
				return
			}
		}
	}
}

// firstBlock returns the first address from which a huge page may begin.
func (m *Mover) firstBlock(from uintptr) uintptr { return (from + m.bytes - 1) &^ (m.bytes - 1) }

// filled reports whether all pages of a block are resident, so that to move it takes no more
// memory.
func (m *Mover) filled(block uintptr) bool {
	n, err := m.residents(block)
	return err == nil && n == m.pages()
}

// pages returns the number of pages of a block.
func (m *Mover) pages() int { return len(m.entries) / entryBytes }

// residents returns the number of pages of a block that are resident.
func (m *Mover) residents(block uintptr) (n int, err error) {
	if _, err := m.pagemap.ReadAt(m.entries, int64(block)/int64(os.Getpagesize())*entryBytes); err != nil {
		return 0, err
	}
	for entry := m.entries; len(entry) > 0; entry = entry[entryBytes:] {
		n += int(binary.NativeEndian.Uint64(entry) >> present)
	}
	return n, nil
}

// anonymous returns the addresses of a line of /proc/PID/maps, see proc_pid_maps(5), if they
// are private memory without a file, such as Go's heap.
func anonymous(line []byte) (from, to uintptr, ok bool) {
	fields := bytes.Fields(line)
	if len(fields) < 5 || string(fields[1]) != "rw-p" || string(fields[4]) != "0" || len(fields) > 5 && !bytes.HasPrefix(fields[5], []byte("[anon:")) {
		return 0, 0, false
	}
	first, last, _ := bytes.Cut(fields[0], []byte("-"))
	f, errFrom := strconv.ParseUint(string(first), 16, 64)
	t, errTo := strconv.ParseUint(string(last), 16, 64)
	return uintptr(f), uintptr(t), errFrom == nil && errTo == nil
}

// advise moves a block into a huge page. Contents and addresses stay.
func advise(block, bytes uintptr) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, block, bytes, collapse); errno != 0 {
		return errno
	}
	return nil
}
