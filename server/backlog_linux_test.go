package server

import (
	"bytes"
	"math/rand/v2"
	"syscall"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// TestBacklog adds and reads random amounts, and compares the bytes read with the bytes
// added.
func TestBacklog(t *testing.T) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pair[0])
	defer syscall.Close(pair[1])
	var (
		seed    = testwait.Seed(t)
		random  = rand.New(rand.NewPCG(seed, 0))
		queue   backlog
		in, out []byte
		buf     = make([]byte, 300_000)
	)
	for step := range 2000 {
		some := make([]byte, random.IntN(1<<random.IntN(18)))
		for i := range some {
			some[i] = byte(random.Uint32())
		}
		in = append(in, some...)
		queue.add(some)
		written, errno := queue.write(pair[0])
		if waits := len(in) - len(out) - written; errno == 0 != (queue.bytes == 0) || queue.bytes > waits {
			t.Fatalf("seed %d, step %d: write took %d bytes, errno %v, and %d wait", seed, step, written, errno, queue.bytes)
		}
		held := 0
		for _, c := range queue.chunks {
			held += cap(c)
		}
		if most := queue.bytes + 2*maxBacklogChunk; held > most {
			t.Fatalf("seed %d, step %d: %d bytes wait in %d, want %d at most", seed, step, queue.bytes, held, most)
		}
		if n, _ := readNow(pair[1], buf[:1+random.IntN(30_000)]); n > 0 {
			out = append(out, buf[:n]...)
		}
	}
	for len(out) < len(in) {
		queue.write(pair[0])
		n, errno := readNow(pair[1], buf)
		if errno != 0 {
			break
		}
		out = append(out, buf[:n]...)
	}
	if !bytes.Equal(in, out) {
		t.Errorf("seed %d: %d bytes went in, %d came out, or they differ", seed, len(in), len(out))
	}
	if queue.bytes != 0 || len(queue.chunks) != 0 {
		t.Errorf("seed %d: %d bytes are left in %d chunks", seed, queue.bytes, len(queue.chunks))
	}
}

// TestBacklogIsSentInParts: a client that reads fast does not have the whole backlog sent at once.
func TestBacklogIsSentInParts(t *testing.T) {
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pipe[0])
	defer syscall.Close(pipe[1])
	const room, setPipeSize = 1 << 20, 1031
	if n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(pipe[1]), setPipeSize, room); errno != 0 || n < room {
		testwait.Missing(t, "a pipe of %d bytes: %v", room, errno)
	}
	var queue backlog
	queue.add(make([]byte, room))
	for left := room; left > 0; {
		written, errno := queue.write(pipe[1])
		if left -= written; written > sentAtOnce+maxBacklogChunk || written == 0 || errno == 0 != (left == 0) {
			t.Fatalf("%d bytes are sent and %d left, errno %v, want %d at once", written, left, errno, sentAtOnce)
		}
	}
}
