package session

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/commands/waiting"
	"limitsrv/engine"
)

// A Session is the state of a connection: commands in, reply bytes out. Ops of consecutive
// commands are gathered into a single batch, which Flush executes; a run command flushes
// first, so that order holds.
//
// Concurrency: one goroutine at a time may use a Session, except for methods that say
// otherwise.
type Session struct {
	// Out holds replies that are not yet written. The transport writes and truncates it.
	Out []byte

	h      *Handler
	client Client
	id     int64
	stats  []commandCounts

	w  resp.Writer   // owns Out between begin and end
	g  *pendingBatch // nil if no command is gathered
	tx transaction
	// deferred is the pending reply of a run command; nil: no reply is pending.
	deferred *deferredReply
	// waiter is the command that waits, see wait; nil: no command waits. Only the session's
	// own goroutine sets it.
	waiter atomic.Pointer[waiting.Client]
	// recent is the previous command; nil: no command yet.
	recent  *Spec
	replies Replies
	db      uint8 // of the keys of its commands; info.DB shows it to other sessions

	// account is the user of the session, nil before login. Only the session's own
	// goroutine sets it, holding mu.
	account *auth.Account
	closing bool
	// stale is set by READONLY: a replica may answer read-only commands.
	stale bool
	// restricted is set if mayRun rejects some commands.
	restricted bool
	monitoring bool
	subscribed [2]map[string]struct{} // by Kind
	listening  atomic.Bool
	inbox      inbox
	tracks     *tracks // nil until CLIENT TRACKING ON; set with mu held
	// fatal, once set, is written after the pending replies, and closes the session.
	fatal error
	fresh freshness

	state atomic.Int32
	err   error // argument of the last call of done
	done  func(error)

	mu   sync.Mutex
	info clientInfo
	// active is the time of the last answered batch or run command, in nanoseconds since
	// the handler's start. Any goroutine may read it.
	active atomic.Int64
	last   atomic.Pointer[Spec] // the command at that time
	// queued is 1 plus the number of queued commands of the open transaction, or 0 if no
	// transaction is open; queuedBytes is the memory of these commands. Any goroutine may
	// read them.
	queued      atomic.Int64
	queuedBytes share
	waitBytes   share // the memory of the command of waiter
	watchBytes  share // the memory of the watched keys
	// began is the start of the current batch or run command, in nanoseconds since the
	// handler's start; 0: no batch or command is timed.
	began int64
	work

	answers  answering    // the size of the last answers
	held     []heldLine   // see Paused
	again    bool         // Continue is executing held
	reserved atomic.Int64 // bytes of Handler.room reserved for the batch in flight
}

// The states of a batch. Exec's done may be called from any goroutine.
const (
	idle int32 = iota
	executing
	away    // a batch is in flight: Flush or Do returned false, and done will call Wake
	arrived // done was called; the replies are not written yet
	closed  // Close was called; done must not call Wake
)

// Do accepts a command; args[0] is its name. Ops of op commands are gathered, so that a
// pipeline is a single batch; their replies are in Out after Flush only.
//
// Requires: the bytes of args stay unchanged until Flush returns true or, after false,
// until Resume returns true.
//
// Returns: false if the command was not accepted because a batch is in flight, or because the
// session Waits. The caller must keep it, wait for Wake, call Resume, then call Do again.
func (s *Session) Do(args [][]byte) bool {
	if s.state.Load() != idle || s.Waits() {
		return false
	}
	if s.closing || s.fatal != nil || len(args) == 0 {
		return true
	}
	if len(s.held) > 0 {
		s.hold(args, nil)
		return true
	}
	c, err := s.h.registry.Lookup(args, s.recent)
	s.recent = c
	if err == nil && s.restricted {
		err = s.mayRun(c)
	}
	if err != nil && s.tx.open && c.isSurplus(args) {
		err = nil // EXEC answers it
	}
	if hooks := s.h.hooks.Load(); err == nil && hooks&^monitored != 0 {
		var now bool
		if now, err = s.passes(hooks, c, args); !now {
			return false
		}
	}
	switch {
	case err != nil:
		s.reject(c, err)
	case s.tx.open && c.Flags&spec.Immediate == 0:
		s.queue(c, args)
	case c.HasOps() && c.Wait == nil:
		if s.g != nil && (s.g.tally.any() && s.splits(c, len(args)) || s.isUnsettled(c, args)) {
			if !s.flush() {
				return false
			}
			if s.pauses() {
				s.hold(args, nil)
				return true
			}
		}
		s.gather(c, args)
	case !s.flush():
		return false
	case s.pauses():
		s.hold(args, nil)
	case c.Wait != nil:
		s.wait(c, args)
	case !s.freshen(c, args), !s.logsIn(c), !s.mayBegin(c):
		return false
	default:
		s.run(c, args)
	}
	return true
}

// restrict recomputes restricted. It must be called after any change of account,
// subscriptions or protocol.
func (s *Session) restrict() {
	s.restricted = s.account == nil || s.MustPush()
}

// show changes the fields of CLIENT LIST.
func (s *Session) show(change func(*clientInfo)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.info)
}

// logSlow records a command that took nanos.
func (s *Session) logSlow(c *Spec, args [][]byte, nanos int64) {
	s.h.slow.record(c.Flags&spec.Fast != 0, nanos, s.client.Addr, s.info.Name, c.redacted(args))
}

// gather appends the ops of a command to the batch.
func (s *Session) gather(c *Spec, args [][]byte) {
	if s.tracks != nil || s.h.hooks.Load()&monitored != 0 {
		s.observe(c, args)
	}
	batch := &s.gathered().batch
	before, calls := len(batch.Ops), len(batch.Calls)
	it := item{spec: c, args: args}
	if c.Asks != nil {
		it.ask, it.err = s.ask(c, args)
	} else if it.err = c.Op(batch, args); s.db != 0 {
		for i := before; i < len(batch.Ops); i++ {
			if batch.Ops[i].Kind != engine.Learn {
				batch.Ops[i].DB = s.db
			}
		}
	}
	if batch.Features != 0 && it.err == nil && !s.tx.running {
		it.err = s.takeBack(batch, before, calls)
	}
	if dear := s.addWeight(c, args); dear != nil && it.err == nil {
		batch.Truncate(before, calls)
		it.err = dear
	}
	it.ops = int32(len(batch.Ops) - before)
	if c.Long > 0 {
		s.g.tally[c.kindOf(len(args))]++
	}
	s.add(it)
}

// run executes a run command. Requires: no command is gathered.
func (s *Session) run(c *Spec, args [][]byte) {
	s.last.Store(c)
	s.start()
	s.begin()
	from, failed := len(s.w.Buf), s.w.Failed
	s.trackRun(c, args)
	s.runFresh(c, args)
	if !c.isClient {
		s.endCaching()
	}
	s.feedMonitors(c, args)
	switch {
	case s.tx.running: // EXEC has filled the batch; its reply follows with the decisions
		s.countFailure(c, failed)
		s.end()
		s.Flush()
	case s.deferred != nil:
		s.deferred.spec, s.deferred.args = c, args
		s.end()
		if !s.state.CompareAndSwap(executing, away) {
			s.render()
		}
	default:
		s.finish(c, args, from, failed)
		s.end()
		s.leave()
	}
}

// writes reports whether a command may change a key; EXEC does if a queued command may.
func (s *Session) writes(c *Spec) bool {
	if c.Flags&spec.Executes == 0 {
		return c.Flags.MayWrite() && !s.tx.open
	}
	return slices.ContainsFunc(s.tx.queue, func(q queued) bool { return q.spec.Flags.MayWrite() })
}

// finish counts and times a run command. from is the offset of its reply; failed is the
// number of error replies before it.
func (s *Session) finish(c *Spec, args [][]byte, from int, failed int64) {
	s.countFailure(c, failed)
	took := s.touch()
	s.began += took // start of the next run command if it follows directly
	s.spent += took
	s.stats[c.ID].took(1, took)
	if took >= s.h.slow.least.Load() {
		s.logSlow(c, args, took)
	}
	if c.Flags&(spec.Listener|spec.PubSub) == spec.Listener|spec.PubSub && s.w.Failed == failed {
		from = len(s.w.Buf) // CLIENT REPLY does not suppress the confirmation of a subscription
	}
	s.suppress(from)
}

// begin moves Out to s.w; end moves it back. Between the two, Out must not be used.
func (s *Session) begin() { s.w.Buf = s.Out }

func (s *Session) end() { s.Out, s.w.Buf = s.w.Buf, nil }

// countFailure counts c as failed if error replies were written since before was read.
func (s *Session) countFailure(c *Spec, before int64) {
	if s.w.Failed != before {
		s.stats[c.ID].failed.Add(1)
	}
}

// Flush executes the gathered commands and appends their replies to Out. It returns false if
// the batch is in flight: the argument bytes must then stay unchanged until Wake, even if the
// session is closed meanwhile; then call Resume.
func (s *Session) Flush() bool {
	switch {
	case s.state.Load() != idle:
		return false
	case s.Pending() == 0:
		s.began = 0 // the next command may follow at any time
		return true
	case len(s.g.batch.Ops) == 0:
		if s.tracks != nil {
			s.registerReads(nil)
		}
		if !s.complete() {
			return false
		}
		s.began = 0
		return true
	}
	s.start()
	began, carried := s.began, s.g.load
	s.trackBatch(&s.g.batch)
	s.state.Store(executing)
	if s.mayExec() {
		s.h.executor.Gather(&s.g.batch, s.done)
	}
	if s.inFlight = s.state.CompareAndSwap(executing, away); s.inFlight || !s.complete() {
		return false
	}
	s.spend(began, carried)
	s.began = 0
	return true
}

// flush is Flush before a command that follows at once, and begins when the batch ends.
func (s *Session) flush() bool {
	if s.state.Load() == idle && s.Pending() == 0 {
		return true
	}
	if !s.Flush() {
		return false
	}
	s.began = s.active.Load()
	return true
}

// Resume appends the replies of a completed batch, and pushed messages. Returns: false,
// with nothing done, while a batch is in flight.
func (s *Session) Resume() bool {
	switch s.state.Load() {
	case executing, away:
		return false
	case arrived:
		if !s.complete() {
			return false
		}
	}
	s.finishWait()
	s.Out = s.inbox.moveTo(s.Out)
	return true
}

// Pending is the amount of work for the next Flush: gathered commands or ops, whichever are
// more, or the greatest number if no more should be gathered.
func (s *Session) Pending() int {
	switch {
	case s.g == nil:
		return 0
	case s.tx.running:
		return max(1, len(s.g.batch.Ops))
	case s.g.batch.Closed || s.full():
		return math.MaxInt
	}
	return max(len(s.g.items), len(s.g.batch.Ops))
}

// ProtocolError appends Redis' error for bytes that are not a command, after the pending
// replies, and closes the session. text begins with "Protocol error: ", without a code word.
func (s *Session) ProtocolError(text string) {
	s.fatal = resp.NewError("ERR", text)
	if s.Flush() {
		s.sayFatal()
	}
}

func (s *Session) sayFatal() {
	if s.fatal == nil || s.closing {
		return
	}
	s.begin()
	s.w.Error(s.fatal)
	s.end()
	s.closing = true
}

// Output returns the reply buffer, Out.
func (s *Session) Output() *[]byte { return &s.Out }

// Authenticated reports whether the full size limits apply.
func (s *Session) Authenticated() bool { return s.account != nil }

// Closing reports that the connection must be closed once Out is written.
func (s *Session) Closing() bool { return s.closing }

// Close ends the session; the transport calls it once. A batch in flight completes
// without calling Wake.
func (s *Session) Close() {
	s.state.Swap(closed)
	s.leave()
	s.abandon()
	if w := s.waiter.Load(); w != nil {
		s.h.waiting.Leave(w)
		s.waitBytes.set(&s.h.waitBytes, 0)
	}
	s.unsubscribeAll()
	s.closeTracking()
	s.inbox.close()
	s.queuedBytes.set(&s.h.queuedBytes, 0)
	s.watchBytes.set(&s.h.watchBytes, 0)
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	delete(s.h.sessions, s.id)
}
