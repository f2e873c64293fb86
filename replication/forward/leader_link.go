package forward

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"limitsrv/persist"
	"limitsrv/replication/link"
)

// A leaderLink is a link to a leader and its unanswered requests: waiting, being written,
// or in flight.
type leaderLink struct {
	forwarder *Client
	to        target
	ctx       context.Context // of the dial
	end       context.CancelFunc
	wake      chan struct{} // there is something to write, or the link is over
	// secret is the current secret when the link is created.
	secret link.Secret

	mu       sync.Mutex
	closing  bool     // accepts no requests, and is closed or closing
	retired  bool     // accepts no requests, and is over when all are answered
	deposed  bool     // retired because another node leads
	conn     net.Conn // nil: not connected yet
	waiting  []Request
	inFlight inFlightRequests
	ops      int       // of all unanswered requests
	working  int       // requests in flight with Work
	deadline time.Time // of conn, for the next answer; zero: no answer is expected
}

// deposedShare divides the timeout for the answers of an earlier leader: if it
// gives any, they are already on their way.
const deposedShare = 4

func newLeaderLink(f *Client, to target) *leaderLink {
	ctx, end := context.WithCancel(context.Background())
	return &leaderLink{forwarder: f, to: to, ctx: ctx, end: end, wake: make(chan struct{}, 1), secret: f.o.Links.Secret()}
}

// add accepts requests while there is room, and returns the number accepted and whether
// room was lacking for more.
func (k *leaderLink) add(requests []Request) (taken int, full bool) {
	k.mu.Lock()
	if !k.closing && !k.retired {
		for _, r := range requests {
			n := len(r.Batch.Ops)
			if full = k.ops > 0 && k.ops+n > maxOps; full {
				break
			}
			k.ops += n
			taken++
		}
		k.waiting = append(k.waiting, requests[:taken]...)
	}
	k.mu.Unlock()
	if taken > 0 {
		signal(k.wake)
	}
	return taken, full
}

// run dials the link and serves it until it is over.
func (k *leaderLink) run() {
	defer k.forwarder.wait.Done()
	defer k.end()
	conn, err := k.forwarder.o.Links.DialForward(k.ctx, k.to.address, k.to.node)
	if err == nil {
		err = k.serve(conn)
	}
	k.stop()
	k.forwarder.linkEnded(k)
	k.forwarder.o.Log.Debug("link to the leader ended", "address", k.to.address, "node", k.to.node, "error", err)

	k.mu.Lock()
	waiting, flights := k.waiting, k.inFlight
	k.waiting = nil
	k.mu.Unlock()
	refuseAll(waiting)
	flights.each(func(r Request) { r.Done(persist.ErrUncertain) })
}

// serve writes requests and reads answers until either fails.
func (k *leaderLink) serve(conn net.Conn) error {
	defer conn.Close()
	k.mu.Lock()
	k.conn = conn
	over := k.closing
	k.mu.Unlock()
	if over {
		return net.ErrClosed
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		w := writer{link: k, conn: conn}
		w.run()
		conn.Close()
	}()
	err := k.receive(conn)
	k.stop()
	<-written
	return err
}

// stop ends the link. Unwritten requests are refused, and written requests are uncertain.
func (k *leaderLink) stop() {
	k.mu.Lock()
	k.closing = true
	conn := k.conn
	k.mu.Unlock()
	k.end()
	if conn != nil {
		conn.Close()
	}
	signal(k.wake)
}

// retire ends the link once all written requests are answered. deposed: another node
// leads, so that the answers must come soon.
func (k *leaderLink) retire(deposed bool) {
	k.mu.Lock()
	k.retired, k.deposed = true, deposed
	waiting := k.waiting
	k.waiting = nil
	for _, r := range waiting {
		k.ops -= len(r.Batch.Ops)
	}
	idle := k.ops == 0
	if !idle && deposed && k.conn != nil {
		k.setDeadline(time.Now())
	}
	k.mu.Unlock()
	refuseAll(waiting)
	if idle {
		k.stop()
	}
}

// assignNumbers registers requests as in flight, before they are written, and returns the
// number of the first; false: the link is over and they must not be written.
func (k *leaderLink) assignNumbers(requests []Request) (seq uint64, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing {
		return 0, false
	}
	seq = k.inFlight.next
	before := k.working
	for _, r := range requests {
		k.inFlight.add(r)
		if r.Batch.Work > 0 {
			k.working++
		}
	}
	if k.deadline.IsZero() || before == 0 && k.working > 0 {
		k.setDeadline(time.Now())
	}
	return seq, true
}

// setDeadline sets the deadline of the next answer. Requires: mu is held.
func (k *leaderLink) setDeadline(now time.Time) {
	k.deadline = now.Add(k.answerTimeout())
	k.conn.SetReadDeadline(k.deadline)
}

// answerTimeout returns the time for the next answer. Requires: mu is held.
func (k *leaderLink) answerTimeout() time.Duration {
	switch {
	case k.deposed:
		return k.forwarder.o.Timeout / deposedShare
	case k.working > 0:
		return k.forwarder.o.AnswerTimeout + MaxTurnWait
	}
	return k.forwarder.o.AnswerTimeout
}

// receive reads answers until reading fails, as it does when the link is over.
func (k *leaderLink) receive(conn net.Conn) error {
	frames := link.NewFrameReader(bufio.NewReaderSize(conn, bufferBytes), maxAnswerBytes)
	for {
		frame, err := frames.Next()
		if err != nil {
			return err
		}
		if err := k.answer(frame); err != nil {
			return err
		}
		if !frames.Ready() {
			k.extendDeadline()
		}
	}
}

// answer completes the request that a frame answers.
func (k *leaderLink) answer(frame []byte) error {
	seq, rest, err := answerNumber(frame)
	if err != nil {
		return err
	}
	k.mu.Lock()
	r, ok := k.inFlight.take(seq)
	if ok && r.Batch.Work > 0 {
		k.working--
	}
	k.mu.Unlock()
	if !ok {
		return fmt.Errorf("an answer to request %d, which is not in flight", seq)
	}
	failed, err := readBatchAnswer(rest, r.Batch)
	if err != nil {
		failed = persist.ErrUncertain
	}
	k.complete(r, failed)
	return err
}

// complete answers a request, and ends a retired link after its last request.
func (k *leaderLink) complete(r Request, failed error) {
	k.mu.Lock()
	k.ops -= len(r.Batch.Ops)
	last := k.retired && k.ops == 0
	k.mu.Unlock()
	r.Done(failed)
	if last {
		k.stop()
	}
}

// extendDeadline moves the deadline after answers have arrived.
func (k *leaderLink) extendDeadline() {
	k.mu.Lock()
	defer k.mu.Unlock()
	now, most := time.Now(), k.answerTimeout()
	switch left := k.deadline.Sub(now); {
	case k.inFlight.len() == 0:
		k.deadline = time.Time{}
		k.conn.SetReadDeadline(k.deadline)
	case left < most*3/4 || left > most:
		k.setDeadline(now)
	}
}
