package replication

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// A forwardLink is a link to one leader, and the requests that it owes answers to:
// those that wait to be written, those that the writer has taken, and those in flight.
type forwardLink struct {
	f    *forwarder
	to   forwardTarget
	ctx  context.Context // of the dial
	end  context.CancelFunc
	wake chan struct{} // there is something to write, or the link is over
	// secret is the one of links that are made as the link begins.
	secret secret

	mu       sync.Mutex
	over     bool     // takes nothing any more, and breaks or is broken
	retired  bool     // takes nothing any more, and is over when it owes nothing
	deposed  bool     // retired because another node leads
	conn     net.Conn // nil: not made yet
	waiting  []request
	inFlight inFlightRequests
	ops      int       // of all requests that it owes answers to
	deadline time.Time // of conn, for the next answer; zero: none is owed
}

// Sizes of buffers, which are also what is read or written at once.
const (
	forwardBuffer = 256 << 10
	// maxAnswerBytes bounds an answer: one of maxForwardOps decisions takes less.
	maxAnswerBytes = 32 << 20
)

// deposedShare is the part of the timeout of links that an earlier leader has for its
// answers: those that it gives are under way.
const deposedShare = 4

func newForwardLink(f *forwarder, to forwardTarget) *forwardLink {
	ctx, end := context.WithCancel(context.Background())
	return &forwardLink{f: f, to: to, ctx: ctx, end: end, wake: make(chan struct{}, 1), secret: f.links.o.secrets.current()[0]}
}

// add takes requests while there is room, and says how many it has taken, and whether
// there was too little room for more.
func (k *forwardLink) add(requests []request) (taken int, full bool) {
	k.mu.Lock()
	if !k.over && !k.retired {
		for _, r := range requests {
			n := len(r.batch.Ops)
			if full = k.ops > 0 && k.ops+n > maxForwardOps; full {
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

// run makes the link and serves it until it is over.
func (k *forwardLink) run() {
	defer k.f.wait.Done()
	defer k.end()
	conn, err := k.f.links.dial(k.ctx, linkForward, k.to.address, k.to.node)
	if err == nil {
		err = k.serve(conn)
	}
	k.stop()
	k.f.linkEnded(k)
	k.f.links.o.log.Debug("a link to the leader has ended", "address", k.to.address, "node", k.to.node, "error", err)

	k.mu.Lock()
	waiting, flights := k.waiting, k.inFlight
	k.waiting = nil
	k.mu.Unlock()
	refuseAll(waiting)
	flights.each(func(r request) { r.done(errUncertain) })
}

// serve writes and reads until one of both fails.
func (k *forwardLink) serve(conn net.Conn) error {
	defer conn.Close()
	k.mu.Lock()
	k.conn = conn
	over := k.over
	k.mu.Unlock()
	if over {
		return net.ErrClosed
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		w := forwardWriter{link: k, conn: conn}
		w.run()
		conn.Close()
	}()
	err := k.receive(conn)
	k.stop()
	<-written
	return err
}

// stop ends the link. What was not written is refused, and what was is uncertain.
func (k *forwardLink) stop() {
	k.mu.Lock()
	k.over = true
	conn := k.conn
	k.mu.Unlock()
	k.end()
	if conn != nil {
		conn.Close()
	}
	signal(k.wake)
}

// retire ends the link when the requests written to it have been answered. deposed says
// that its node has been replaced as the leader: then their answers must come soon.
func (k *forwardLink) retire(deposed bool) {
	k.mu.Lock()
	k.retired, k.deposed = true, deposed
	waiting := k.waiting
	k.waiting = nil
	for _, r := range waiting {
		k.ops -= len(r.batch.Ops)
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

// launch says that the writer is about to write requests, and returns the number of the
// first; false: they are not to be written.
func (k *forwardLink) assignNumbers(requests []request) (seq uint64, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return 0, false
	}
	seq = k.inFlight.next
	for _, r := range requests {
		k.inFlight.add(r)
	}
	if k.deadline.IsZero() {
		k.setDeadline(time.Now())
	}
	return seq, true
}

// expect sets by when the next answer has to come. mu is held.
func (k *forwardLink) setDeadline(now time.Time) {
	k.deadline = now.Add(k.answerTimeout())
	k.conn.SetReadDeadline(k.deadline)
}

// patience is how long the answers may take. mu is held.
func (k *forwardLink) answerTimeout() time.Duration {
	if k.deposed {
		return k.f.links.o.timeout / deposedShare
	}
	return k.f.links.o.answerTimeout
}

// receive reads answers until that fails, as it does when the link is over.
func (k *forwardLink) receive(conn net.Conn) error {
	frames := frameReader{r: bufio.NewReaderSize(conn, forwardBuffer), most: maxAnswerBytes}
	for {
		frame, err := frames.next()
		if err != nil {
			return err
		}
		if err := k.answer(frame); err != nil {
			return err
		}
		if !frames.ready() {
			k.extendDeadline()
		}
	}
}

// answer passes on the answer to a request.
func (k *forwardLink) answer(frame []byte) error {
	seq, rest, err := answerNumber(frame)
	if err != nil {
		return err
	}
	k.mu.Lock()
	r, ok := k.inFlight.take(seq)
	k.mu.Unlock()
	if !ok {
		return fmt.Errorf("an answer to request %d, which is not in flight", seq)
	}
	failed, err := readBatchAnswer(rest, r.batch)
	if err != nil {
		failed = errUncertain
	}
	k.complete(r, failed)
	return err
}

// settle answers a request. If it was the last of a retired link that is over.
func (k *forwardLink) complete(r request, failed error) {
	k.mu.Lock()
	k.ops -= len(r.batch.Ops)
	last := k.retired && k.ops == 0
	k.mu.Unlock()
	r.done(failed)
	if last {
		k.stop()
	}
}

// progressed is called when answers have come, and sees to the deadline of the next.
func (k *forwardLink) extendDeadline() {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	switch {
	case k.inFlight.len() == 0:
		k.deadline = time.Time{}
		k.conn.SetReadDeadline(k.deadline)
	case k.deadline.Sub(now) < k.answerTimeout()*3/4:
		k.setDeadline(now)
	}
}

// flights are requests by the numbers they were given, which count up.
type inFlightRequests struct {
	ring        []request // of a length that is a power of two; request n is at n modulo that
	first, next uint64    // all in flight are from first to next-1
}

// len is 0 if none is in flight.
func (q *inFlightRequests) len() int { return int(q.next - q.first) }

func (q *inFlightRequests) at(seq uint64) *request { return &q.ring[seq&uint64(len(q.ring)-1)] }

func (q *inFlightRequests) add(r request) {
	if q.len() == len(q.ring) {
		grown := inFlightRequests{ring: make([]request, max(64, 2*len(q.ring))), first: q.first, next: q.next}
		for seq := q.first; seq != q.next; seq++ {
			*grown.at(seq) = *q.at(seq)
		}
		*q = grown
	}
	*q.at(q.next) = r
	q.next++
}

// take removes request seq, if it is in flight.
func (q *inFlightRequests) take(seq uint64) (request, bool) {
	if seq-q.first >= uint64(q.len()) {
		return request{}, false
	}
	at := q.at(seq)
	r := *at
	*at = request{}
	for q.first != q.next && q.at(q.first).batch == nil {
		q.first++
	}
	return r, r.batch != nil
}

func (q *inFlightRequests) each(yield func(request)) {
	for seq := q.first; seq != q.next; seq++ {
		if r := *q.at(seq); r.batch != nil {
			yield(r)
		}
	}
}
