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

	"limitsrv/internal/testing/testwait"
)

// A commitCounter is a Config.Commit that records the number of committed commands.
type commitCounter struct {
	echo      *echoLog
	commits   atomic.Int64
	committed atomic.Int64
}

func (l *commitCounter) commit() {
	l.commits.Add(1)
	for {
		was, now := l.committed.Load(), l.echo.answered.Load()
		if now <= was || l.committed.CompareAndSwap(was, now) {
			return
		}
	}
}

// startWithCommits starts a server with a commitCounter.
func startWithCommits(t *testing.T, cfg Config) (*rig, *commitCounter) {
	counter := &commitCounter{echo: new(echoLog)}
	counter.echo.barrier = make(chan struct{})
	cfg.Commit = counter.commit
	return startWith(t, cfg, counter.echo), counter
}

// readBulk reads a reply of echo.
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

// A reply is written only after its command is committed: in pipelines short and long,
// with batches in flight, and when a connection ends.
func TestCommitBeforeReplies(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r, counter := startWithCommits(t, Config{Loops: loops})
		seed := testwait.Seed(t)
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
						if answered, err := strconv.Atoi(reply); err == nil && counter.committed.Load() < int64(answered) {
							t.Errorf("seed %d: received reply %d with %d commands committed", seed, answered, counter.committed.Load())
							return
						}
					}
				}
			})
		}
		clients.Wait()
		nc := r.dial()
		send(t, nc, array("COUNT")+array("QUIT", "x"))
		if reply, err := readBulk(bufio.NewReader(nc)); err != nil ||
			strconv.FormatInt(counter.committed.Load()-1, 10) != reply {
			t.Errorf("before the end: %s, %v, and %d are committed", reply, err, counter.committed.Load())
		}
	})
}

// commandsOfProof is the number of complete commands, each answered before the next, that make a
// connection count as authenticated.
const commandsOfProof = 2

// prove makes connections of clients that are served first.
func prove(t *testing.T, clients ...net.Conn) {
	t.Helper()
	for _, nc := range clients {
		for range commandsOfProof {
			send(t, nc, array("OP", "x"))
			expect(t, nc, bulk("x"))
		}
	}
}

// The commands of all ready connections are committed at once. On a unix socket the bytes
// have arrived when Write returns.
func TestOneCommitPerWakeUp(t *testing.T) {
	for _, name := range []string{"OP", "SLOW"} {
		t.Run(name, func(t *testing.T) {
			r, counter := startWithCommits(t, Config{Loops: 1, UnixSocket: filepath.Join(t.TempDir(), "s")})
			first := r.dial()
			all := make([]net.Conn, 20)
			for i := range all {
				all[i] = r.dial()
				prove(t, all[i])
			}
			before := counter.commits.Load()
			send(t, first, array("BARRIER", "x"))
			<-counter.echo.barrier
			for _, nc := range all {
				send(t, nc, array(name, "y"))
			}
			counter.echo.barrier <- struct{}{}
			expect(t, first, bulk("x"))
			if name == "SLOW" { // batches in flight are committed too, before any is back
				until(t, "a commit for the batches in flight", func() bool { return counter.commits.Load() >= before+2 })
			}
			for _, nc := range all {
				expect(t, nc, bulk("y"))
			}
			if got := counter.commits.Load() - before; name == "OP" && got != 2 {
				t.Errorf("%d commits, want 2: for the barrier and for all others", got)
			}
		})
	}
}

// A client with many batches in a read delays other clients by one batch at most.
func TestLongPipelinesAreInterleaved(t *testing.T) {
	const commands = 8 * batchOps
	r, counter := startWithCommits(t, Config{Loops: 1, UnixSocket: filepath.Join(t.TempDir(), "s")})
	first, heavy, light := r.dial(), r.dial(), r.dial()
	prove(t, heavy, light)
	send(t, first, array("BARRIER", "x"))
	<-counter.echo.barrier
	send(t, heavy, strings.Repeat("COUNT\r\n", commands))
	send(t, light, "COUNT\r\n")
	counter.echo.barrier <- struct{}{}
	before := 2*commandsOfProof + 1
	reply, err := readBulk(bufio.NewReader(light))
	if n, _ := strconv.Atoi(reply); err != nil || n > before+batchOps+1 {
		t.Errorf("the only command of a client was the %q. to be answered, %v; want it within one batch of %d of another's "+
			"%d", reply, err, batchOps, commands)
	}
	in := bufio.NewReader(heavy)
	for i := range commands {
		if _, err := readBulk(in); err != nil {
			t.Fatalf("reply %d: %v", i, err)
		}
	}
}

// A client that does not read while its batches are in flight gets all replies in order
// when it reads.
func TestSlowReaderOfBatchesInFlight(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r, _ := startWithCommits(t, Config{Loops: loops, WriteTimeout: time.Minute})
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

// Beside light clients, a client with more than one read of commands executes short
// batches.
func TestShortBatchesBesideLightClients(t *testing.T) {
	r, counter := startWithCommits(t, Config{Loops: 1, UnixSocket: filepath.Join(t.TempDir(), "s")})
	first, heavy, light := r.dial(), r.dial(), r.dial()
	prove(t, heavy, light)
	commands := strings.Repeat("COUNT\r\n", 2*lentBytes/len("COUNT\r\n"))
	for turn := range 2 { // twice, because the poller reports either first, and then the other
		send(t, first, array("BARRIER", "x"))
		<-counter.echo.barrier
		before := int(counter.echo.answered.Load())
		send(t, heavy, commands)
		send(t, light, "COUNT\r\n")
		counter.echo.barrier <- struct{}{}
		reply, err := readBulk(bufio.NewReader(light))
		if n, _ := strconv.Atoi(reply); err != nil || n > before+1+shortOps+1 {
			t.Errorf("turn %d: the only command of a client was the %q. to be answered after %d, %v; want it within %d of "+
				"another's", turn, reply, before, err, shortOps)
		}
		in := bufio.NewReader(heavy)
		for range strings.Count(commands, "\n") {
			if _, err := readBulk(in); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, first, bulk("x"))
	}
}

// New clients of a server that is busy with other clients have a share of its time: they wait
// for a few of its wake-ups, however many they are.
func TestNewClientsOfABusyServerAreServed(t *testing.T) {
	const busy, wakeUps = 16, 16
	r, counter := startWithCommits(t, Config{Loops: 1, UnixSocket: filepath.Join(t.TempDir(), "s")})
	var ended atomic.Bool
	var running sync.WaitGroup
	for range busy {
		nc := r.dial()
		prove(t, nc)
		running.Go(func() {
			in := bufio.NewReader(nc)
			for !ended.Load() {
				send(t, nc, array("SLEEP", "x"))
				if _, err := readBulk(in); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	until(t, "the server is busy", func() bool { return counter.echo.answered.Load() > 10*busy })
	fresh := make([]net.Conn, 40*maxUnauthPerTurn)
	for i := range fresh {
		fresh[i] = r.dial()
	}
	for _, nc := range fresh {
		send(t, nc, "COUNT\r\n")
	}
	before, last := int(counter.echo.answered.Load()), 0
	for _, nc := range fresh {
		reply, err := readBulk(bufio.NewReader(nc))
		n, _ := strconv.Atoi(reply)
		if last = max(last, n); err != nil {
			t.Error(err)
		}
	}
	ended.Store(true)
	running.Wait()
	if most := wakeUps*busy + len(fresh); last-before > most {
		t.Errorf("%d more commands were executed until the first ones of %d new clients beside %d busy ones were, want %d "+
			"at most", last-before, len(fresh), busy, most)
	}
}

// Any number of unauthenticated clients delays an authenticated client by a few of them at
// most.
func TestUnauthenticatedClientsAreServedLater(t *testing.T) {
	r, counter := startWithCommits(t, Config{Loops: 1, UnixSocket: filepath.Join(t.TempDir(), "s")})
	first, client := r.dial(), r.dial()
	prove(t, first, client)
	counter.echo.password.Store(true)
	unauthenticated := make([]net.Conn, 10*maxUnauthPerTurn)
	for i := range unauthenticated {
		unauthenticated[i] = r.dial()
		send(t, unauthenticated[i], array("OP", "x"))
		expect(t, unauthenticated[i], bulk("x"))
	}
	answered := int(counter.echo.answered.Load())
	for range 2 { // twice, because the poller reports in either order
		send(t, first, array("BARRIER", "x"))
		<-counter.echo.barrier
		for _, nc := range unauthenticated {
			send(t, nc, "COUNT\r\n")
		}
		send(t, client, "COUNT\r\n")
		counter.echo.barrier <- struct{}{}
		reply, err := readBulk(bufio.NewReader(client))
		if n, _ := strconv.Atoi(reply); err != nil || n > answered+2 {
			t.Errorf("the command of the authenticated client was the %q. to be answered, %v; want it before those of "+
				"unauthenticated clients, within %d", reply, err, answered+2)
		}
		for _, nc := range unauthenticated {
			if _, err := readBulk(bufio.NewReader(nc)); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, first, bulk("x"))
		answered += len(unauthenticated) + 2
	}
}
