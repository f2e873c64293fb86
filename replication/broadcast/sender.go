package broadcast

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxQueued bounds the queue of one node, in bytes of frames. A message that does not fit is
	// dropped.
	maxQueued = 32 << 20
	// maxAge bounds the wait of the oldest message for a node that can't be reached. The whole
	// queue is dropped then.
	maxAge = 2 * time.Second
	// redialAfter is the pause after a failed dial. Each further pause is twice as long, up to
	// maxRedial.
	redialAfter = 20 * time.Millisecond
	maxRedial   = 500 * time.Millisecond
	// keptBytes is the largest capacity, in bytes, of a buffer that a queue uses again.
	keptBytes = 64 << 10
)

// Options configure a Sender.
type Options struct {
	// Dial connects to the node with this id at this address.
	Dial func(ctx context.Context, address, node string) (net.Conn, error)
	// Timeout bounds a write of queued messages. After it the link is closed.
	Timeout time.Duration
}

// A Sender sends messages to other nodes. Concurrency: any goroutine.
type Sender struct {
	o       Options
	stop    context.CancelFunc
	stopped context.Context
	wait    sync.WaitGroup
	sent    atomic.Int64 // messages written, counted for each node
	dropped atomic.Int64

	mu    sync.Mutex
	peers map[Peer]*queue
}

// A Peer is another node: its id, and the address of its listener for links.
type Peer struct{ Node, Address string }

// New returns a [Sender] without peers. The caller must close it.
func New(o Options) *Sender {
	s := &Sender{o: o, peers: make(map[Peer]*queue)}
	s.stopped, s.stop = context.WithCancel(context.Background())
	return s
}

// SetPeers sets the nodes that get all later messages. It drops the messages that wait for removed
// nodes.
func (s *Sender) SetPeers(all []Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.Err() != nil {
		return
	}
	now := make(map[Peer]*queue, len(all))
	for _, to := range all {
		if now[to] = s.peers[to]; now[to] == nil {
			now[to] = s.open(to)
		}
	}
	for to, q := range s.peers {
		if now[to] == nil {
			q.end()
		}
	}
	s.peers = now
}

// open returns a queue for a node, and starts its goroutine.
func (s *Sender) open(to Peer) *queue {
	ctx, end := context.WithCancel(s.stopped)
	q := &queue{sender: s, to: to, ctx: ctx, end: end, wake: make(chan struct{}, 1)}
	s.wait.Go(q.run)
	return q
}

// Send queues a message for all peers. It does not block. Cost: a copy of the message for each
// peer.
func (s *Sender) Send(channel, message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.peers {
		q.add(channel, message)
	}
}

// Counts returns the numbers of messages written and dropped. A message counts once for each node.
func (s *Sender) Counts() (sent, dropped int64) { return s.sent.Load(), s.dropped.Load() }

// Close drops the messages that wait. It returns when all links are closed.
func (s *Sender) Close() {
	s.mu.Lock()
	s.stop()
	clear(s.peers)
	s.mu.Unlock()
	s.wait.Wait()
}

// HasPeers reports whether there is a peer.
func (s *Sender) HasPeers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers) > 0
}

// A queue holds the messages that wait for a single node.
type queue struct {
	sender *Sender
	to     Peer
	ctx    context.Context
	end    context.CancelFunc
	wake   chan struct{}
	conn   net.Conn      // used by run only; nil: no link
	broken chan struct{} // closed when the other node has closed conn

	mu     sync.Mutex
	frames []byte
	count  int64
	since  time.Time // when the oldest message was added
}

// add queues a message, or drops it if the queue is full.
func (q *queue) add(channel, message []byte) {
	size := frameSize(channel, message)
	q.mu.Lock()
	full := len(q.frames)+size > maxQueued
	if !full {
		if q.count == 0 {
			q.since = time.Now()
		}
		q.frames = appendFrame(q.frames, channel, message)
		q.count++
	}
	q.mu.Unlock()
	if full {
		q.sender.dropped.Add(1)
		return
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take removes and returns all messages. The queue then uses the memory of spare.
func (q *queue) take(spare []byte) (frames []byte, count int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	frames, count = q.frames, q.count
	q.frames, q.count = spare[:0], 0
	return frames, count
}

// drop drops all messages if the oldest has waited for longer than maxAge.
func (q *queue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count > 0 && time.Since(q.since) > maxAge {
		q.sender.dropped.Add(q.count)
		q.frames, q.count = nil, 0
	}
}

// run sends messages until ctx ends.
func (q *queue) run() {
	defer q.hangUp()
	var spare []byte
	pause := redialAfter
	for {
		select {
		case <-q.ctx.Done():
			return
		case <-q.wake:
		}
		for !q.connect() {
			q.drop()
			select {
			case <-q.ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, maxRedial)
		}
		pause = redialAfter
		frames, count := q.take(spare)
		q.write(frames, count)
		if spare = frames; cap(spare) > keptBytes {
			spare = nil
		}
	}
}

// connect makes a link, unless there is a working link. It returns false if the dial fails.
func (q *queue) connect() bool {
	if q.conn != nil {
		select {
		case <-q.broken:
			q.hangUp()
		default:
			return true
		}
	}
	conn, err := q.sender.o.Dial(q.ctx, q.to.Address, q.to.Node)
	if err != nil {
		return false
	}
	q.conn, q.broken = conn, make(chan struct{})
	// The other node sends nothing, so Read returns only when the link breaks.
	q.sender.wait.Go(func() {
		conn.Read(make([]byte, 1))
		close(q.broken)
	})
	return true
}

// write writes frames, which hold count messages. After an error it drops them and closes the link.
func (q *queue) write(frames []byte, count int64) {
	if count == 0 {
		return
	}
	conn := q.conn
	conn.SetWriteDeadline(time.Now().Add(q.sender.o.Timeout))
	defer context.AfterFunc(q.ctx, func() { conn.Close() })()
	if _, err := conn.Write(frames); err != nil {
		q.sender.dropped.Add(count)
		q.hangUp()
		return
	}
	q.sender.sent.Add(count)
}

// hangUp closes the link, if there is a link.
func (q *queue) hangUp() {
	if q.conn != nil {
		q.conn.Close()
		<-q.broken
		q.conn = nil
	}
}
