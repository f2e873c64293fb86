package server

import (
	"bufio"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A ledger commits what sessions have executed.
type ledger struct {
	echo      *echoLog
	commits   atomic.Int64
	committed atomic.Int64
}

func (l *ledger) commit() {
	l.commits.Add(1)
	for {
		was, now := l.committed.Load(), l.echo.answered.Load()
		if now <= was || l.committed.CompareAndSwap(was, now) {
			return
		}
	}
}

// startLedger serves with a ledger.
func startLedger(t *testing.T, cfg Config) (*rig, *ledger) {
	book := &ledger{echo: new(echoLog)}
	book.echo.gate = make(chan struct{})
	cfg.Commit = book.commit
	return startWith(t, cfg, book.echo), book
}

// readBulk reads one reply of echo.
func readBulk(r *bufio.Reader) (string, error) {
	head, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(strings.TrimSpace(head[1:]))
	if err != nil {
		return "", err
	}
	b := make([]byte, n+2)
	_, err = io.ReadFull(r, b)
	return string(b[:n]), err
}

// No reply is written before what it says is committed: in pipelines short and
// long, when batches go away, and when a connection ends.
func TestCommitBeforeReplies(t *testing.T) {
	over(t, func(t *testing.T, loops int) {
		r, book := startLedger(t, Config{Loops: loops})
		seed := rand.Uint64()
		var clients sync.WaitGroup
		for i := range 8 {
			nc, random := r.dial(), rand.New(rand.NewPCG(seed, uint64(i)))
			clients.Go(func() {
				in := bufio.NewReader(nc)
				for range 40 {
					var pipeline strings.Builder
					n := 1 + random.IntN(30)
					if random.IntN(20) == 0 {
						n = 3000 // several batches
					}
					for range n {
						switch random.IntN(30) {
						case 0:
							pipeline.WriteString(array("SLOW", "x"))
						case 1:
							pipeline.WriteString(array("NOW", "x"))
						}
						pipeline.WriteString(array("COUNT"))
					}
					commands := strings.Count(pipeline.String(), "*")
					go nc.Write([]byte(pipeline.String()))
					for range commands {
						reply, err := readBulk(in)
						if err != nil {
							t.Errorf("seed %d: %v", seed, err)
							return
						}
						if answered, err := strconv.Atoi(reply); err == nil && book.committed.Load() < int64(answered) {
							t.Errorf("seed %d: reply %d is here when %d are committed", seed, answered, book.committed.Load())
							return
						}
					}
				}
			})
		}
		clients.Wait()
		nc := r.dial()
		send(t, nc, array("COUNT")+array("QUIT", "x"))
		if reply, err := readBulk(bufio.NewReader(nc)); err != nil || strconv.FormatInt(book.committed.Load()-1, 10) != reply {
			t.Errorf("before the end: %s, %v, and %d are committed", reply, err, book.committed.Load())
		}
	})
}

// What all connections that are ready ask for is committed once. A unix socket has
// what was sent when Write returns.
func TestOneCommitForAWakeUp(t *testing.T) {
	for _, name := range []string{"OP", "SLOW"} {
		t.Run(name, func(t *testing.T) {
			r, book := startLedger(t, Config{Loops: 1, UnixSocket: filepath.Join(t.TempDir(), "s")})
			first := r.dial()
			all := make([]net.Conn, 20)
			for i := range all {
				all[i] = r.dial()
				send(t, all[i], array("OP", "x"))
				expect(t, all[i], bulk("x"))
			}
			before := book.commits.Load()
			send(t, first, array("GATE", "x"))
			<-book.echo.gate
			for _, nc := range all {
				send(t, nc, array(name, "y"))
			}
			book.echo.gate <- struct{}{}
			expect(t, first, bulk("x"))
			if name == "SLOW" { // those that went away are committed too, before any is back
				until(t, "a commit for what is away", func() bool { return book.commits.Load() >= before+2 })
			}
			for _, nc := range all {
				expect(t, nc, bulk("y"))
			}
			if got := book.commits.Load() - before; name == "OP" && got != 2 {
				t.Errorf("%d commits, want 2: for the gate and for all others", got)
			}
		})
	}
}

// A client with many batches in one read does not keep others waiting for more than
// one of them.
func TestLongReadsTakeTurns(t *testing.T) {
	const commands = 8 * batchOps
	r, book := startLedger(t, Config{Loops: 1, UnixSocket: filepath.Join(t.TempDir(), "s")})
	first, greedy, modest := r.dial(), r.dial(), r.dial()
	for _, nc := range []net.Conn{greedy, modest} {
		send(t, nc, array("OP", "x"))
		expect(t, nc, bulk("x"))
	}
	send(t, first, array("GATE", "x"))
	<-book.echo.gate
	send(t, greedy, strings.Repeat("COUNT\r\n", commands))
	send(t, modest, "COUNT\r\n")
	book.echo.gate <- struct{}{}
	before := 3
	reply, err := readBulk(bufio.NewReader(modest))
	if n, _ := strconv.Atoi(reply); err != nil || n > before+batchOps+1 {
		t.Errorf("the only command of a client was the %q. to be answered, %v; want it within one batch of %d of another's %d", reply, err, batchOps, commands)
	}
	in := bufio.NewReader(greedy)
	for i := range commands {
		if _, err := readBulk(in); err != nil {
			t.Fatalf("reply %d: %v", i, err)
		}
	}
}

// A client that does not read while batches go away and come back gets all in
// order when it does.
func TestSlowReaderOfBatchesAway(t *testing.T) {
	over(t, func(t *testing.T, loops int) {
		r, _ := startLedger(t, Config{Loops: loops, WriteTimeout: time.Minute})
		nc := r.dial()
		long := strings.Repeat("x", 50_000)
		var in, want strings.Builder
		for i := range 300 {
			n := strconv.Itoa(i)
			in.WriteString(array("OP", long) + array("SLOW", n) + array("NOW", n))
			want.WriteString(bulk(long) + bulk(n) + bulk(n))
		}
		go nc.Write([]byte(in.String()))
		received := int64(-1)
		until(t, "the server reads no more", func() bool {
			time.Sleep(20 * time.Millisecond)
			before := received
			received = r.Stats().InputBytes
			return received == before && received > 1<<20
		})
		expect(t, nc, want.String())
	})
}

// A client with more than one read of commands leaves others, who ask for little, the
// turn after a short batch.
func TestShortTurns(t *testing.T) {
	r, book := startLedger(t, Config{Loops: 1, UnixSocket: filepath.Join(t.TempDir(), "s")})
	first, greedy, modest := r.dial(), r.dial(), r.dial()
	for _, nc := range []net.Conn{greedy, modest} {
		send(t, nc, array("OP", "x"))
		expect(t, nc, bulk("x"))
	}
	commands := strings.Repeat("COUNT\r\n", 2*lentBytes/len("COUNT\r\n"))
	for turn := range 2 { // whichever the poller tells of first, the next time it is the other
		send(t, first, array("GATE", "x"))
		<-book.echo.gate
		before := int(book.echo.answered.Load())
		send(t, greedy, commands)
		send(t, modest, "COUNT\r\n")
		book.echo.gate <- struct{}{}
		reply, err := readBulk(bufio.NewReader(modest))
		if n, _ := strconv.Atoi(reply); err != nil || n > before+1+shortOps+1 {
			t.Errorf("turn %d: the only command of a client was the %q. to be answered after %d, %v; want it within %d of another's", turn, reply, before, err, shortOps)
		}
		in := bufio.NewReader(greedy)
		for range strings.Count(commands, "\n") {
			if _, err := readBulk(in); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, first, bulk("x"))
	}
}

// Strangers, however many come at once, keep a client that is known waiting for a few
// of them only.
func TestStrangersComeLater(t *testing.T) {
	r, book := startLedger(t, Config{Loops: 1, UnixSocket: filepath.Join(t.TempDir(), "s")})
	first, known := r.dial(), r.dial()
	for _, nc := range []net.Conn{first, known} {
		send(t, nc, array("OP", "x"))
		expect(t, nc, bulk("x"))
	}
	book.echo.password.Store(true)
	strangers := make([]net.Conn, 10*maxUnauthPerWakeUp)
	for i := range strangers {
		strangers[i] = r.dial()
		send(t, strangers[i], array("OP", "x"))
		expect(t, strangers[i], bulk("x"))
	}
	answered := int(book.echo.answered.Load())
	for range 2 { // none of the two depends on the order in which the poller tells
		send(t, first, array("GATE", "x"))
		<-book.echo.gate
		for _, nc := range strangers {
			send(t, nc, "COUNT\r\n")
		}
		send(t, known, "COUNT\r\n")
		book.echo.gate <- struct{}{}
		reply, err := readBulk(bufio.NewReader(known))
		if n, _ := strconv.Atoi(reply); err != nil || n > answered+2 {
			t.Errorf("the command of a known client was the %q. to be answered, %v; want it before those of strangers, that is %d", reply, err, answered+2)
		}
		for _, nc := range strangers {
			if _, err := readBulk(bufio.NewReader(nc)); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, first, bulk("x"))
		answered += len(strangers) + 2
	}
}
