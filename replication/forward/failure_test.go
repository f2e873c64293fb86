package forward

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
	"limitsrv/persist"
	"limitsrv/replication/link"
	"limitsrv/replication/link/linktest"
)

// answerTimeout is the timeout of links in bubbles.
const answerTimeout = 4 * time.Second

// A bubble is a follower and leaders at addresses, in a bubble of synctest.
type bubble struct {
	t       *testing.T
	network *linktest.Network
	f       *Client
	links   *link.Links // the follower's
	start   time.Time
	dials   int
}

func inBubble(t *testing.T, test func(*bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t: t, network: linktest.NewNetwork(), start: time.Now()}
		b.links = serveLinks(t, "2", link.Options{
			Listener: b.network.Listen("two:2"), Timeout: answerTimeout,
			Dial: func(ctx context.Context, address string) (net.Conn, error) {
				b.dials++
				return b.network.Dial(ctx, address)
			},
		}, Server{}).Links
		b.f = testClient(b.links, answerTimeout)
		defer b.f.Close()
		test(b)
	})
}

// A manualLeader answers when the test calls one of dones.
type manualLeader struct {
	*testLinks
	dones chan func(error)
}

func (b *bubble) leader(address, digit string) *manualLeader {
	d := &manualLeader{dones: make(chan func(error), 10000)}
	o := link.Options{Listener: b.network.Listen(address), Dial: b.network.Dial, Timeout: answerTimeout}
	d.testLinks = serveLinks(b.t, digit, o, Server{
		Do: each(func(batch *engine.Batch, done func(error)) {
			d.dones <- func(err error) {
				batch.Decisions = make([]engine.Decision, len(batch.Ops))
				done(err)
			}
		}),
	})
	return d
}

// An outcome is the answer to a request, and its time.
type outcome struct {
	err   error
	after time.Duration
	times int
}

// A pending is a request with its outcome so far.
type pending struct {
	mu sync.Mutex
	outcome
}

func (p *pending) now() outcome {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outcome
}

// send sends a batch of n ops to a leader.
func (b *bubble) send(address, digit string, n int) *pending {
	return b.sendBatch(address, digit, takes("k", n))
}

// sendWork is send for a batch with work.
func (b *bubble) sendWork(address, digit string) *pending {
	batch := takes("k", 1)
	batch.Work = 1
	return b.sendBatch(address, digit, batch)
}

func (b *bubble) sendBatch(address, digit string, batch *engine.Batch) *pending {
	p := new(pending)
	b.f.Send(address, nodeID(digit), []Request{{batch, func(err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.outcome = outcome{err, time.Since(b.start), p.times + 1}
	}}})
	return p
}

// want checks the current outcome of a request.
func (b *bubble) want(what string, p *pending, err error, after time.Duration) {
	b.t.Helper()
	if got, want := p.now(), (outcome{err, after, 1}); got != want {
		b.t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

func (b *bubble) wantPending(what string, p *pending) {
	b.t.Helper()
	if got := p.now(); got.times > 0 {
		b.t.Errorf("%s: answered %+v", what, got)
	}
}

func (b *bubble) wantClosed(when string, leader *manualLeader) {
	b.t.Helper()
	if leader.open.Load() > 0 {
		b.t.Errorf("the link to the old leader is open %s", when)
	}
}

func TestForwardToAbsentLeader(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.want("no listener", b.send("one:1", "1", 1), ErrNotAccepted, 0)
		b.want("at once after that", b.send("one:1", "1", 1), ErrNotAccepted, 0)
		if b.dials != 1 {
			t.Errorf("%d dials, want 1", b.dials)
		}
		b.leader("three:3", "3")
		b.wantPending("another one at once", b.send("three:3", "3", 1))
		time.Sleep(redialAfter)
		b.want("still no listener", b.send("one:1", "1", 1), ErrNotAccepted, redialAfter)
		if b.dials != 3 {
			t.Errorf("%d dials, want 3", b.dials)
		}
		b.leader("one:1", "1")
		b.want("another node is there", b.send("one:1", "4", 1), ErrNotAccepted, redialAfter)
		b.wantPending("now it is there", b.send("one:1", "1", 1))
	})
}

func TestForwardToSilentLeader(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.network.Listen("one:1") // accepts no connection
		first := b.send("one:1", "1", 1)
		time.Sleep(answerTimeout / 2)
		second := b.send("one:1", "1", 1)
		b.wantPending("as it is dialed", first)
		time.Sleep(answerTimeout)
		b.want("the first", first, ErrNotAccepted, answerTimeout)
		b.want("the second", second, ErrNotAccepted, answerTimeout)
	})
}

func TestForwardUnanswered(t *testing.T) {
	inBubble(t, func(b *bubble) {
		leader := b.leader("one:1", "1")
		first := b.send("one:1", "1", 1)
		b.wantPending("unanswered", first)
		time.Sleep(answerTimeout / 2)
		second := b.send("one:1", "1", 1)
		time.Sleep(answerTimeout)
		b.want("the first", first, persist.ErrUncertain, answerTimeout)
		b.want("the second", second, persist.ErrUncertain, answerTimeout)
		for range 2 {
			(<-leader.dones)(nil) // too late
		}
		third := b.send("one:1", "1", 1)
		synctest.Wait()
		(<-leader.dones)(nil)
		b.want("over another link", third, nil, answerTimeout*3/2)
		time.Sleep(time.Hour)
		fourth := b.send("one:1", "1", 1)
		synctest.Wait()
		(<-leader.dones)(nil)
		b.want("after an hour without any", fourth, nil, answerTimeout*3/2+time.Hour)
		if b.dials != 2 {
			t.Errorf("%d dials, want 2", b.dials)
		}
	})
}

// The leader answers late, but within the timeout.
func TestForwardSlow(t *testing.T) {
	inBubble(t, func(b *bubble) {
		leader := b.leader("one:1", "1")
		var sent []*pending
		for range 10 {
			sent = append(sent, b.send("one:1", "1", 1))
		}
		const late = answerTimeout * 9 / 10
		for i, p := range sent {
			time.Sleep(late)
			(<-leader.dones)(nil)
			b.want(fmt.Sprint("request ", i), p, nil, late*time.Duration(i+1))
		}
	})
}

// TestForwardWork: a batch with work may wait for its turn at the leader. Without such a batch in flight,
// the leader has the usual time.
func TestForwardWork(t *testing.T) {
	inBubble(t, func(b *bubble) {
		leader := b.leader("one:1", "1")
		first := b.send("one:1", "1", 1)
		time.Sleep(answerTimeout / 2)
		work := b.sendWork("one:1", "1")
		b.wantPending("before its turn", work)
		const turn = answerTimeout/2 + MaxTurnWait + answerTimeout*9/10
		time.Sleep(turn - time.Since(b.start))
		b.wantPending("while another batch waits", first)
		<-leader.dones
		(<-leader.dones)(nil)
		b.want("with work", work, nil, turn)
		time.Sleep(2 * answerTimeout)
		b.want("without work", first, persist.ErrUncertain, turn+answerTimeout)

		began := time.Since(b.start)
		second := b.send("one:1", "1", 1)
		soon := b.sendWork("one:1", "1")
		synctest.Wait()
		<-leader.dones
		(<-leader.dones)(nil)
		b.want("with a turn at once", soon, nil, began)
		time.Sleep(2 * answerTimeout)
		b.want("after a turn at once", second, persist.ErrUncertain, began+answerTimeout)

		silent := b.sendWork("one:1", "1")
		began = time.Since(b.start)
		time.Sleep(2 * (answerTimeout + MaxTurnWait))
		b.want("never begun", silent, persist.ErrUncertain, began+answerTimeout+MaxTurnWait)
	})
}

// A lateListener accepts connections only after a time.
type lateListener struct {
	net.Listener
	after time.Duration
}

func (l lateListener) Accept() (net.Conn, error) {
	time.Sleep(l.after)
	return l.Listener.Accept()
}

// The leader reads nothing: requests beyond the bound are refused at once, unwritten
// requests later, and written requests are uncertain.
func TestForwardBacklog(t *testing.T) {
	inBubble(t, func(b *bubble) {
		const greeted = time.Nanosecond // after the first requests
		over := make(chan struct{})
		serveLinks(b.t, "1", link.Options{
			Listener: lateListener{b.network.Listen("one:1"), greeted}, Dial: b.network.Dial,
			Forwarded: func(net.Conn) error {
				<-over
				return nil
			},
		}, Server{})
		defer close(over)
		const large = 2 * bufferBytes / 24 // ops of a frame of its own
		written, unwritten := b.send("one:1", "1", 1), b.send("one:1", "1", large)
		time.Sleep(greeted)
		synctest.Wait()
		waiting := b.send("one:1", "1", maxOps-1-large)
		start := time.Now()
		more := []Request{{takes("k", 1), func(error) { t.Error("more than fits was answered") }}}
		if taken := b.f.Send("one:1", nodeID("1"), more); taken != 0 {
			t.Errorf("more than fits: %d requests accepted", taken)
		}
		if waited := time.Since(start); waited > 0 {
			t.Errorf("send has blocked for %v", waited)
		}
		time.Sleep(answerTimeout)
		b.want("the written request", written, persist.ErrUncertain, greeted+answerTimeout)
		b.want("the next request", unwritten, ErrNotAccepted, greeted+answerTimeout)
		b.want("the waiting request", waiting, ErrNotAccepted, greeted+answerTimeout)
	})
}

// An old leader answers the requests it was sent.
func TestForwardLeaderChange(t *testing.T) {
	inBubble(t, func(b *bubble) {
		old, next := b.leader("one:1", "1"), b.leader("three:3", "3")
		first := b.send("one:1", "1", 1)
		synctest.Wait()
		second := b.send("three:3", "3", 1)
		synctest.Wait()
		(<-next.dones)(nil)
		b.want("of the new leader", second, nil, 0)
		b.wantPending("of the old leader", first)
		(<-old.dones)(ErrNotAccepted)
		b.want("of the old leader", first, ErrNotAccepted, 0)
		b.wantClosed("when it has answered all", old)

		b.network.Listen("four:4") // accepts no connection
		third := b.send("four:4", "4", 1)
		b.wantPending("as it is dialed", third)
		b.wantClosed("when all is answered", next)
		fourth := b.send("three:3", "3", 1)
		b.want("when the dialed node is no longer leader", third, ErrNotAccepted, 0)
		synctest.Wait()
		(<-next.dones)(nil)
		b.want("of a leader once more", fourth, nil, 0)
	})
}

// A link with another secret replaces a link with unanswered requests: the leader may still
// answer these requests as late as any other.
func TestForwardRenewal(t *testing.T) {
	inBubble(t, func(b *bubble) {
		secrets, err := link.OneSecret("the secret of another time")
		if err != nil {
			t.Fatal(err)
		}
		former := serveLinks(b.t, "3",
			link.Options{Listener: b.network.Listen("three:3"), Dial: b.network.Dial, Secrets: secrets}, Server{})
		leader := b.leader("one:1", "1")
		first := b.send("one:1", "1", 1)
		synctest.Wait()
		b.f.mu.Lock()
		b.f.current.secret = former.Secret()
		b.f.mu.Unlock()
		b.f.Renew()
		second := b.send("one:1", "1", 1)
		const late = answerTimeout * 9 / 10
		time.Sleep(late)
		b.wantPending("over the former link", first)
		(<-leader.dones)(nil)
		(<-leader.dones)(nil)
		b.want("over the former link", first, nil, late)
		b.want("over the next one", second, nil, late)
	})
}

// All requests in flight are answered when either side closes.
func TestForwardClose(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*bubble, *manualLeader)
	}{
		{"the forwarder closes", func(b *bubble, _ *manualLeader) { b.f.Close() }},
		{"its links close", func(b *bubble, _ *manualLeader) { b.links.Close() }},
		{"the leader's links close", func(_ *bubble, leader *manualLeader) { leader.Links.Close() }},
	} {
		inBubble(t, func(b *bubble) {
			leader := b.leader("one:1", "1")
			first := b.send("one:1", "1", 3)
			synctest.Wait()
			tt.end(b, leader)
			b.want(tt.name, first, persist.ErrUncertain, 0)
			b.want(tt.name+", later", b.send("one:1", "1", 1), ErrNotAccepted, 0)
			(<-leader.dones)(nil)
		})
	}
}

// A leader reads no more than it may hold.
func TestForwardBoundsMemory(t *testing.T) {
	inBubble(t, func(b *bubble) {
		leader := b.leader("one:1", "1")
		const (
			ops     = 1000
			fit     = maxHeldBytes / (ops * heldPerOp) // batches, without their keys
			batches = 2 * fit
		)
		var sent []*pending
		for range batches {
			sent = append(sent, b.send("one:1", "1", ops))
		}
		synctest.Wait()
		if n := len(leader.dones); n < fit/2 || n > fit+50 {
			t.Errorf("%d batches are held of %d, want about %d", n, batches, fit)
		}
		for i := range sent {
			synctest.Wait()
			(<-leader.dones)(nil)
			b.want(fmt.Sprint("request ", i), sent[i], nil, 0)
		}
	})
}

// A leader executes all batches that it has read at once together.
func TestForwardTogether(t *testing.T) {
	inBubble(t, func(b *bubble) {
		batches, calls := 0, 0
		serveLinks(b.t, "1", link.Options{Listener: b.network.Listen("one:1"), Dial: b.network.Dial}, Server{
			Do: func(all []Request) {
				calls++
				batches += len(all)
				refuseAll(all)
			},
		})
		conn, err := b.links.DialForward(b.t.Context(), "one:1", "")
		if err != nil {
			t.Fatal(err)
		}
		go io.Copy(io.Discard, conn)
		const batch = "12345678\x01\x0f\x00\x47"
		frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(batch))), batch...)
		conn.Write(append(bytes.Repeat(frame, 10), frame[:14]...))
		synctest.Wait()
		if batches != 10 || calls != 1 {
			t.Errorf("%d batches in %d calls, want 10 in 1", batches, calls)
		}
		conn.Write(frame[14:])
		synctest.Wait()
		if batches != 11 || calls != 2 {
			t.Errorf("%d batches in %d calls, want 11 in 2", batches, calls)
		}
	})
}

// Links break at any byte: requests answered as not accepted were not executed, decided
// requests were executed once, and all are answered once.
func TestForwardBrokenLinks(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex
	taken := make(map[string]int)
	listening := tcpLinks(t, "1", link.Options{}, Server{
		Do: each(func(b *engine.Batch, done func(error)) {
			mu.Lock()
			taken[string(b.Ops[0].Key)]++
			mu.Unlock()
			b.Decisions = make([]engine.Decision, len(b.Ops))
			go done(nil)
		}),
	})
	dialing := tcpLinks(t, "2", link.Options{
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			if r.IntN(4) == 0 {
				return nil, errors.New("broken from the beginning")
			}
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			return &breaking{Conn: conn, left: 100 + r.IntN(20_000)}, err
		},
	}, Server{})
	f := testClient(dialing.Links, testTimeout)
	const batches = 20_000
	outcomes := make([][]error, batches)
	var answered sync.WaitGroup
	for i := range batches {
		answered.Add(1)
		f.Send(listening.address, nodeID("1"), []Request{{takes(fmt.Sprint(i), 1+i%3), func(err error) {
			outcomes[i] = append(outcomes[i], err)
			answered.Done()
		}}})
		if i%100 == 0 { // let them be answered, and links be dialed again
			answered.Wait()
			f.mu.Lock()
			f.lost = target{}
			f.mu.Unlock()
		}
	}
	answered.Wait()
	f.Close()
	listening.Links.Close()
	mu.Lock()
	defer mu.Unlock()
	counts := make(map[error]int)
	for i, all := range outcomes {
		n := taken[fmt.Sprint(i, ":0")]
		if len(all) != 1 {
			t.Fatalf("request %d is answered %d times", i, len(all))
		}
		err := all[0]
		counts[err]++
		want := map[error][]int{nil: {1}, ErrNotAccepted: {0}, persist.ErrUncertain: {0, 1}}[err]
		if !slices.Contains(want, n) {
			t.Errorf("request %d was executed %d times and is answered with %v", i, n, err)
		}
	}
	t.Log(counts)
	if counts[nil] == 0 || counts[ErrNotAccepted] == 0 || counts[persist.ErrUncertain] == 0 {
		t.Errorf("outcomes %v, want some of each", counts)
	}
}

// breaking is a connection that breaks after some bytes.
type breaking struct {
	net.Conn
	mu   sync.Mutex
	left int
}

func (c *breaking) some(data []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	data = data[:min(len(data), c.left)]
	c.left -= len(data)
	return data
}

func (c *breaking) Write(data []byte) (int, error) {
	n, err := c.Conn.Write(c.some(data))
	if n < len(data) && err == nil {
		c.Conn.Close()
		err = errors.New("broken")
	}
	return n, err
}

func (c *breaking) Read(data []byte) (int, error) {
	n, err := c.Conn.Read(data)
	if some := c.some(data[:n]); len(some) < n && err == nil {
		c.Conn.Close()
		return 0, errors.New("broken")
	}
	return n, err
}
