package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"limitsrv/internal/respclient"
	"limitsrv/internal/testing/testwait"
)

// workers are clients that wait for elements, each on a connection of its own, once.
type workers struct {
	t     *testing.T
	mu    sync.Mutex
	conns []*wire        // of those that wait
	got   map[string]int // number of deliveries of each element
	wrong []string
	group sync.WaitGroup
	// uncertain counts the replies UNCERTAIN: an element may be lost for each.
	uncertain atomic.Int64
}

// wait makes n clients of a server wait with a command for ever.
func (w *workers) wait(address, command string, n int) {
	w.t.Helper()
	for range n {
		c := wired(w.t, address)
		if _, err := io.WriteString(c, command+" 0\r\n"); err != nil {
			w.t.Fatal(err)
		}
		w.mu.Lock()
		w.conns = append(w.conns, c)
		w.mu.Unlock()
		w.group.Go(func() { w.take(c, command) })
	}
}

// take reads the reply of a client that waits with a command, unless it is closed before.
// Without a leader the client is refused, and waits again.
func (w *workers) take(c *wire, command string) {
	reply, err := respclient.Read(c.in)
	for err == nil && isError(reply, "CLUSTERDOWN") {
		time.Sleep(10 * time.Millisecond)
		if _, err = io.WriteString(c, command+" 0\r\n"); err == nil {
			reply, err = respclient.Read(c.in)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		if !errors.Is(err, net.ErrClosed) {
			w.wrong = append(w.wrong, err.Error())
		}
		return
	}
	if pair, ok := reply.([]any); ok && len(pair) == 2 {
		w.got[fmt.Sprint(pair[1])]++
		return
	}
	if isError(reply, "UNCERTAIN") {
		w.uncertain.Add(1)
		return
	}
	w.wrong = append(w.wrong, fmt.Sprint(reply))
}

// delivered checks that each of the elements 0 to n-1 was delivered once, except for lost
// elements.
func (w *workers) delivered(n, lost int) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	missing := 0
	for i := range n {
		switch times := w.got[strconv.Itoa(i)]; {
		case times == 0:
			missing++
		case times > 1:
			w.t.Errorf("element %d was delivered %d times", i, times)
		}
	}
	if missing > lost || len(w.wrong) > 0 {
		w.t.Errorf("%d of %d elements were not delivered, want at most %d; other replies %q", missing, n, lost, w.wrong)
	}
}

// count returns the number of elements that were delivered.
func (w *workers) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.got)
}

// push adds an element to the list, unless that is uncertain. Without a leader it tries again.
func (w *workers) push(m *peer, element int) {
	for {
		replies, err := m.ask(fmt.Sprint("RPUSH list ", element))
		switch {
		case err != nil || isError(replies[0], "UNCERTAIN"):
			w.uncertain.Add(1)
			return
		case !isError(replies[0], "CLUSTERDOWN"):
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func newWorkers(t *testing.T) *workers { return &workers{t: t, got: map[string]int{}} }

// A thousand clients wait for a few lists. Half of them go. Then the remaining clients get
// each of the elements that several clients push, once. Then clients go while elements are
// pushed.
func TestWaitingClients(t *testing.T) {
	for _, options := range []string{"", "--io-threads=-1", "--data DIR --fsync always",
		"--data DIR --fsync everysec --io-threads 2"} {
		t.Run(options, func(t *testing.T) {
			r := serve(t, strings.Fields(strings.ReplaceAll(options, "DIR", t.TempDir()))...)
			w, control := newWorkers(t), wired(t, r.address)
			control.loaded(t)
			blocked := func(n int) {
				t.Helper()
				until(t, fmt.Sprint(n, " clients wait"),
					func() bool { return control.info(t, "blocked_clients") == strconv.Itoa(n) })
			}
			for i := range 10 {
				w.wait(r.address, fmt.Sprintf("%s a%d b%d", []string{"BLPOP", "BRPOP"}[i%2], i%5, i%3), 100)
			}
			blocked(1000)
			for i := 0; i < len(w.conns); i += 2 {
				w.conns[i].Close()
			}
			blocked(500)
			push := func(from, to int) {
				random := rand.New(rand.NewPCG(uint64(from), 1))
				for c := wired(t, r.address); from < to; from++ {
					c.do(t, fmt.Sprintf("%s %s %d", []string{"LPUSH", "RPUSH"}[random.IntN(2)],
						[]string{"a0", "a1", "a2", "a3", "a4"}[from%5], from))
				}
			}
			push(0, 400)
			blocked(100)
			until(t, "all elements are read", func() bool { return w.count() == 400 })
			w.delivered(400, 0)
			go func() {
				for i := 1; i < len(w.conns); i += 2 {
					w.conns[i].Close()
				}
			}()
			push(400, 500)
			blocked(0)
			w.group.Wait()
			left := 0
			for i := range 5 {
				list, _ := control.do(t, fmt.Sprintf("LRANGE a%d 0 -1", i)).([]any)
				left += len(list)
				for _, element := range list {
					w.got[fmt.Sprint(element)]++
				}
			}
			w.delivered(500, 100) // to clients that went before they read
			t.Logf("%d of 100 elements are left", left)
			r.Process.Signal(syscall.SIGTERM)
			r.exit(t)
		})
	}
}

// A drain ends the wait of clients as their timeouts would.
func TestDrainEndsWaits(t *testing.T) {
	for _, threads := range []string{"2", "-1"} {
		r := serve(t, "--drain", "30s", "--io-threads="+threads)
		conn := dial(t, "tcp", r.address)
		io.WriteString(conn, "BLPOP k 0\r\nPING\r\n")
		control := wired(t, r.address)
		until(t, "the client waits", func() bool { return control.info(t, "blocked_clients") == "1" })
		r.Process.Signal(syscall.SIGTERM)
		asks(t, conn, "", "*-1\r\n+PONG\r\n")
		if code := r.exit(t); code != exitOK {
			t.Errorf("exit %d, want 0\n%s", code, r.logged())
		}
	}
}

// Clients of all nodes wait, and all nodes push: each element is delivered once, also after
// the leader was killed.
func TestWaitingClientsOfACluster(t *testing.T) {
	c := startTrio(t, directories(t))
	c.awaitRecovery(t)
	for _, m := range c.peers { // all must know that all can apply calls
		await(t, m.host+" pushes", func() bool {
			replies, err := m.ask("RPUSH other x")
			return err == nil && !isError(replies[0], "ERR")
		})
	}
	w := newWorkers(t)
	blocked := func(n int, peers ...*peer) {
		t.Helper()
		for _, m := range peers {
			await(t, fmt.Sprint(n, " clients of ", m.host, " wait"), func() bool {
				replies, err := m.ask("INFO clients")
				return err == nil && strings.Contains(fmt.Sprint(replies[0]), fmt.Sprintf("\r\nblocked_clients:%d\r\n", n))
			})
		}
	}
	// served pushes as many more elements as are lost, until no client waits.
	served := func(peers ...*peer) {
		t.Helper()
		done := make(chan struct{})
		go func() {
			w.group.Wait()
			close(done)
		}()
		for lost := 1000; ; lost++ {
			select {
			case <-done:
				return
			case <-time.After(testwait.Scaled(time.Second)):
				w.push(peers[lost%len(peers)], lost)
			}
		}
	}
	// takeRest removes the elements that no client got, and counts them as delivered.
	takeRest := func(m *peer) {
		t.Helper()
		for _, command := range []string{"LRANGE list 0 -1", "DEL list"} {
			reply, err := wired(t, m.client).whenLed(command)
			if left, ok := reply.([]any); ok {
				for _, element := range left {
					w.got[fmt.Sprint(element)]++
				}
			} else if _, ok := reply.(int64); err != nil || !ok {
				t.Fatalf("%s: %v, %v", command, reply, err)
			}
		}
	}
	const each = 30
	for i, m := range c.peers {
		w.wait(m.client, fmt.Sprintf("BLPOP none list%d list", i), each)
	}
	blocked(each, c.peers...)
	var group sync.WaitGroup
	for i, m := range c.peers {
		group.Go(func() {
			for n := range each {
				w.push(m, i*each+n)
			}
		})
	}
	group.Wait()
	served(c.peers...)
	takeRest(c.peers[0])
	w.delivered(3*each, int(w.uncertain.Load()))
	blocked(0, c.peers...)

	leader := -1
	await(t, "there is a leader", func() bool { leader = c.leader(); return leader >= 0 })
	others := append(append([]*peer(nil), c.peers[:leader]...), c.peers[leader+1:]...)
	for _, m := range others {
		w.wait(m.client, "BLPOP list", each)
	}
	blocked(each, others...)
	for _, m := range others { // after the first attempts, which the leader must not lose
		if _, err := m.ask("LPUSH other x"); err != nil {
			t.Fatal(err)
		}
	}
	c.peers[leader].kill()
	for n := 3 * each; n < 5*each; n++ {
		w.push(others[n%2], n)
	}
	served(others...)
	if n := w.uncertain.Load(); n > each {
		t.Errorf("%d calls have an unknown outcome", n)
	}
	c.awaitRecovery(t)
	c.awaitSameState(t)
	takeRest(others[0])
	w.delivered(5*each, int(w.uncertain.Load()))
}
