package front

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/certs"
	"limitsrv/internal/loglimit"
	"limitsrv/replication/batch"
	"limitsrv/replication/broadcast"
	"limitsrv/replication/forward"
	"limitsrv/replication/fronts"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
	"limitsrv/replication/undecided"
)

// Options configure a Front.
type Options struct {
	// Nodes are the addresses for other nodes of some nodes of the group.
	Nodes []string
	// Client is the address for clients to reach this front. It names the front in links, and with
	// TLS the certificate must be for its host.
	Client, Version string
	NoQuorum        undecided.Policy // all but undecided.Local
	// ElectionTimeout is the nodes' value of this option. A request waits for a leader for at most
	// 2.5 times this.
	ElectionTimeout time.Duration
	Commands        engine.Commands
	// Notices get the lists of the group that grow, and Send after each change of texts.
	Notices *engine.Notices
	// TLS are the certificate files for links; nil: links are without TLS. Secrets are the cluster
	// secrets; nil: there are none.
	TLS     *certs.Files
	Secrets *link.Secrets
	// Level is the feature level that the group must have.
	Level  int
	Logger *slog.Logger
	// Fatal is called once, from any goroutine, if the group is of an older version. The process
	// must exit.
	Fatal func(error)

	// Dial connects to another node, and Wall is the wall clock, for the time until a leader is
	// found. nil: the system's.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	Wall func() engine.Instant
	// Monotonic is the clock of Now, which is never set; nil: the system's.
	Monotonic func() time.Duration
}

// A Front is a node without state. Concurrency: all methods may be called from many goroutines,
// except Close, which must be the last call.
type Front struct {
	o    Options
	log  *slog.Logger
	id   string // 40 hexadecimal digits, new at each start
	mono func() time.Duration

	links     *link.Links
	callers   callers
	forwarder *forward.Client
	batcher   *batch.Batcher
	messages  *broadcast.Sender
	undecided undecided.Answers
	engine    *engine.Engine // of texts
	logOnce   *loglimit.Limiter[string]
	published atomic.Pointer[func(channel, message []byte)] // see HandlePublished; nil: not set yet
	fatal     func(error)

	clock   clock
	leaders atomic.Int64 // leaders found since the start

	suspected chan struct{} // the leader must be looked for
	wanted    chan struct{} // texts must be copied
	fresh     *batch.Round  // callers of Fresh
	asks      chan struct{} // full with mostAsks calls of Ask in flight
	changes   *changes

	mu      sync.Mutex
	cluster link.ClusterID
	known   []string // the addresses of all nodes
	leader  storage.Server
	leads   context.Context // ends when leader is the leader no more
	deposed context.CancelFunc
	lost    time.Duration // when leader became unknown, by mono
	found   bool          // a leader was found once
	news    fronts.Watched
	counts  fronts.Counts
	heard   time.Duration // when news came, by mono
	copied  bool          // all texts were copied once
	copiers []copier
	rewatch context.CancelFunc // ends the Watch in flight; nil: there is none

	stopping context.Context
	stop     context.CancelFunc
	wait     sync.WaitGroup
}

// callTimeout is the least time that bounds dials, greetings and calls.
const callTimeout = 200 * time.Millisecond

// Open starts a front. It looks for the leader in the background, and until then Exec answers
// according to Options.NoQuorum. The error is of the TLS files.
func Open(o Options) (*Front, error) {
	if o.ElectionTimeout == 0 {
		o.ElectionTimeout = time.Second
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}
	if o.Wall == nil {
		o.Wall = func() engine.Instant { return engine.Instant(time.Now().UnixNano()) }
	}
	begun := time.Now()
	n := &Front{
		o: o, log: o.Logger, id: newID(), mono: func() time.Duration { return time.Since(begun) },
		engine:  engine.New(engine.Options{Commands: o.Commands}),
		logOnce: loglimit.New[string](time.Minute, maxLogged, loglimit.Forget), known: o.Nodes,
		suspected: make(chan struct{}, 1), wanted: make(chan struct{}, 1), fresh: batch.NewRound(errStopped),
		asks: make(chan struct{}, mostAsks), changes: newChanges(),
	}
	var once sync.Once
	n.fatal = func(err error) { once.Do(func() { o.Fatal(err) }) }
	if o.Monotonic == nil {
		o.Monotonic = n.mono
	}
	n.clock = clock{wall: o.Wall, mono: o.Monotonic}
	n.undecided.Policy = o.NoQuorum
	o.Notices.HandleFirst(n.stopWatch)
	n.stopping, n.stop = context.WithCancel(context.Background())
	var err error
	n.links, err = link.New(link.Options{
		Dial: o.Dial, Address: o.Client, TLS: o.TLS, Secrets: o.Secrets, Identity: n.identity, Log: n.log,
		Timeout: n.timeout(),
	})
	if err != nil {
		n.stop()
		return nil, err
	}
	n.callers.links = n.links
	n.forwarder = forward.New(forward.Options{
		Links: n.links, Log: n.log, Timeout: n.timeout(), AnswerTimeout: max(n.timeout(), storage.LeaderHang+n.timeout()),
	})
	n.messages = broadcast.New(broadcast.Options{Dial: n.links.DialMessages, Timeout: n.timeout()})
	n.batcher = batch.New(batch.Options{Node: (*decider)(n), Mono: n.mono, MaxHold: n.hold(), Stopped: errStopped})
	n.wait.Go(func() { n.batcher.Run(n.stopping) })
	n.wait.Go(n.follow)
	n.wait.Go(n.copyTexts)
	n.wait.Go(func() { n.fresh.Run(n.stopping.Done(), n.freshen) })
	n.wait.Go(n.maintain)
	return n, nil
}

const maxLogged = 100

// newID returns the id of a node.
func newID() string {
	var id [20]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// timeout bounds dials, greetings and calls.
func (n *Front) timeout() time.Duration { return max(n.o.ElectionTimeout, callTimeout) }

// hold bounds the wait of a request for a leader.
func (n *Front) hold() time.Duration { return 5 * n.o.ElectionTimeout / 2 }

// identity returns the front's id and the id of the cluster, once it is known.
func (n *Front) identity() link.Identity {
	n.mu.Lock()
	defer n.mu.Unlock()
	return link.Identity{Cluster: n.cluster, Node: n.id}
}

// maintain renews links when secrets change.
func (n *Front) maintain() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-n.stopping.Done():
			return
		case <-tick.C:
			n.links.CloseStale(time.Now())
			n.forwarder.Renew()
		}
	}
}

// Certificates returns the certificates of links; nil: links are without TLS.
func (n *Front) Certificates() *certs.Source { return n.links.Certificates() }

// Engine returns the engine of the texts. It has no keys.
func (n *Front) Engine() *engine.Engine { return n.engine }

// Now returns the front's estimate of the time of the group. It never goes back.
func (n *Front) Now() engine.Instant { return n.clock.now() }

// Close stops the front. Requires: no more calls of Exec.
func (n *Front) Close(ctx context.Context) error {
	n.stop()
	closed := make(chan error, 1)
	go func() {
		n.forwarder.Close()
		n.messages.Close()
		err := n.links.Close()
		n.wait.Wait()
		n.callers.close()
		closed <- err
	}()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return errors.New("the links to the nodes have not been closed")
	}
}
