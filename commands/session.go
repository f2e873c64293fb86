package commands

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Client is what the transport tells about a connection.
type Client struct {
	Addr, LocalAddr string // as CLIENT LIST shows them; a unix socket is PATH:0
	Since           time.Time
	Close           func() // asks the transport to close the connection; any goroutine may call it (CLIENT KILL)
	// Wake tells the transport, from any goroutine, to call Resume: a batch that was
	// away has come back, or others have sent something.
	Wake func()
	// OutputBytes bounds what others may send and the client leaves unread; 0: no bound.
	OutputBytes int
	// Buffers returns the transport's buffers. Any goroutine may call it; nil: they are unknown.
	Buffers func() Buffers
}

// Buffers are the sizes of a connection's buffers in the transport. All are bytes, except FD and Chunks.
// A connection that is being served at the moment shows its earlier sizes.
type Buffers struct {
	FD         int   // descriptor of its socket; -1: unknown
	Query      int64 // received and not executed
	QueryRoom  int64 // free behind these
	Reply      int64 // room for replies that the connection has to itself
	ReplyPeak  int64 // most replies that were ready to be written at once, ever
	Writing    int64 // replies that wait in that room
	Chunks     int64 // of replies that wait elsewhere
	ChunkBytes int64 // in these
}

// A Session is one connection: commands in, bytes out. One goroutine at a time
// may use it. Ops of consecutive commands are gathered into one batch, which
// Flush sends off; a run command flushes first, so that order holds.
type Session struct {
	// Out is replies not yet written: the transport takes them and cuts Out.
	Out []byte

	h      *Handler
	client Client
	id     int64
	stats  []commandCounts

	w  Reply      // has Out from begin to end
	g  *gathering // nil while nothing is gathered
	tx transaction
	// later is what a run command has others work on, nil if none does.
	later *later
	// recent is the command of the line before, nil if there is none.
	recent *spec
	quiet  quiet

	// account is who uses it; nil: nobody has logged in. Its own goroutine sets it, and
	// with mu.
	account *account
	closing bool
	// stale is READONLY: what only looks may be answered by a replica.
	stale bool
	// restricted says that mayRun refuses some commands.
	restricted bool
	monitoring bool
	listens    subscriptions
	listening  atomic.Bool
	// fatal, once set, is said after the replies of what came before, and closes.
	fatal error

	state atomic.Int32
	err   error // what done was called with
	done  func(error)

	mu    sync.Mutex
	shown shown
	inbox inbox
	// active is when the session last answered a batch or ran a command, in
	// nanoseconds since the handler's start. Any goroutine may read it.
	active atomic.Int64
	last   atomic.Pointer[spec] // the command that did so last
	// queued is 1 more than the commands of the open transaction, 0 if there is none, and
	// queuedBytes the memory that these hold. Any goroutine may read them.
	queued, queuedBytes atomic.Int64
	// began is when what is under way did, in nanoseconds since the handler's start;
	// 0: nothing is.
	began int64
}

// shown is what CLIENT LIST tells about a session, beside what the transport
// knows. Session.mu guards it, and the inbox, since any session may ask.
type shown struct {
	name            string
	libName, libVer string
	db              int
	proto3          bool
	// what it listens to: how many channels and patterns, and whether all commands.
	channels, patterns int
	monitor            bool
}

// The states of a batch. Exec's done may be called from any goroutine.
const (
	idle int32 = iota
	executing
	away    // Flush or Do returned false; done will Wake
	arrived // done was called
	closed  // the transport is gone; nobody is to be woken
)

// Do takes a command (args[0] is its name; the slices stay untouched until Flush
// says that they are done with). Decisions are gathered, so that a pipeline is
// one batch: their replies are in Out after Flush only.
//
// False says that it was not taken since a batch is away: keep it, wait for
// Wake, call Resume, then call Do again.
func (s *Session) Do(args [][]byte) bool {
	if s.state.Load() != idle {
		return false
	}
	if s.closing || s.fatal != nil || len(args) == 0 {
		return true
	}
	c, err := s.h.registry.lookup(args, s.recent)
	s.recent = c
	if err == nil && s.restricted {
		err = s.mayRun(c)
	}
	attention := s.h.attention.Load()
	if err == nil && attention&guarded != 0 {
		err = s.mayAs(c, args)
	}
	if err == nil {
		err = s.elsewhere(c, args)
	}
	if err == nil && attention&loading != 0 {
		err = s.mayRunLoading(c)
	}
	if err == nil && attention&paused != 0 && s.holdBack(c) {
		return false
	}
	switch {
	case err != nil:
		s.reject(c, err)
	case s.tx.open && c.Flags&Immediate == 0:
		s.queue(c, args)
	case c.Op != nil:
		s.gather(c, args)
	default:
		if !s.flush() {
			return false
		}
		s.run(c, args)
	}
	return true
}

// reject answers a command that is not carried out; it spoils a transaction.
func (s *Session) reject(c *spec, err error) {
	if c != nil {
		s.stats[c.id].rejected.Add(1)
	}
	s.tx.dirty = s.tx.open
	s.add(item{err: err})
}

// restrict works out whether some commands are refused for now.
func (s *Session) restrict() {
	s.restricted = s.account == nil || s.listens.count() > 0 && !s.w.proto3
}

// mayRun says why a command is refused for now: before login, or where a RESP2
// client listens and could not tell a reply from a message.
func (s *Session) mayRun(c *spec) error {
	switch {
	case s.account == nil && c.Flags&NoAuth == 0:
		return errNoAuth
	case s.listens.count() > 0 && !s.w.proto3 && c.Flags&Listener == 0:
		return &Error{"ERR", "Can't execute '" + c.name + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"}
	}
	return nil
}

// mayAs says why a command is refused to the user of the session. It allocates only
// for who is refused.
func (s *Session) mayAs(c *spec, args [][]byte) error {
	if s.account == nil {
		return nil
	}
	r := s.account.rights.Load()
	if r.all {
		return nil
	}
	why, _ := r.deny(c, args)
	switch why {
	case deniedCommand:
		s.h.denied.commands.Add(1)
		return &Error{"NOPERM", "this user has no permissions to run the '" + c.name + "' command"}
	case deniedKey:
		s.h.denied.keys.Add(1)
		return errNoKey
	}
	return nil
}

// mayRunLoading says why a command is refused while the state is loaded. An EXEC
// of such commands drops the transaction.
func (s *Session) mayRunLoading(c *spec) error {
	switch {
	case c.Flags&Loading == 0:
		return errLoading
	case c.Command == &exec && slices.ContainsFunc(s.tx.queue, func(q queued) bool { return q.spec.Flags&Loading == 0 }):
		s.endTransaction()
		return errExecLoading
	}
	return nil
}

// gather appends a command's ops to the batch.
func (s *Session) gather(c *spec, args [][]byte) {
	s.exhibit(c, args)
	batch := &s.gathered().batch
	before := len(batch.Ops)
	err := c.Op(batch, args)
	s.add(item{spec: c, err: err, ops: len(batch.Ops) - before, args: args})
}

// run carries out a run command; nothing is gathered.
func (s *Session) run(c *spec, args [][]byte) {
	s.last.Store(c)
	s.start()
	s.begin()
	from, failed := len(s.w.buf), s.w.failed
	c.Run(s, args)
	s.exhibit(c, args)
	switch {
	case s.tx.running: // EXEC has gathered its batch; the reply comes with that
		s.countFailure(c, failed)
		s.end()
		s.Flush()
	case s.later != nil:
		s.later.spec, s.later.args = c, args
		s.end()
		if !s.state.CompareAndSwap(executing, away) {
			s.render()
		}
	default:
		s.finish(c, args, from, failed)
		s.end()
	}
}

// finish counts and times a run command whose reply begins at from, before which
// so many had failed.
func (s *Session) finish(c *spec, args [][]byte, from int, failed int64) {
	s.countFailure(c, failed)
	took := s.touch()
	s.began += took // where the next one begins, if it follows at once
	s.stats[c.id].took(1, took)
	if took >= s.h.slow.least.Load() {
		s.note(c, args, took)
	}
	s.hush(from)
}

// begin lets s.w write to Out, until end. Between the two nobody looks at Out.
func (s *Session) begin() { s.w.buf = s.Out }

func (s *Session) end() { s.Out, s.w.buf = s.w.buf, nil }

// countFailure counts c as failed if it is by now more than before that have.
func (s *Session) countFailure(c *spec, before int64) {
	if s.w.failed != before {
		s.stats[c.id].failed.Add(1)
	}
}

// Flush executes what was gathered. False says that the batch is away: the
// argument bytes must stay until Wake, also if the session is closed meanwhile;
// then Resume.
func (s *Session) Flush() bool {
	done := s.flush()
	if done {
		s.began = 0 // what comes next need not follow at once
	}
	return done
}

func (s *Session) flush() bool {
	switch {
	case s.state.Load() != idle:
		return false
	case s.Pending() == 0:
		return true
	case len(s.g.batch.Ops) > 0:
		s.start()
		s.state.Store(executing)
		s.h.exec(&s.g.batch, s.done)
		if s.state.CompareAndSwap(executing, away) {
			return false
		}
	}
	s.render()
	return true
}

// arrived is the done of the session's batches.
func (s *Session) arrived(err error) {
	s.err = err
	if s.state.Swap(arrived) == away {
		s.client.Wake()
	}
}

// Resume appends the replies of a batch that has come back, and what others have
// sent. It does nothing, and answers false, while a batch is away.
func (s *Session) Resume() bool {
	switch s.state.Load() {
	case executing, away:
		return false
	case arrived:
		s.render()
	}
	s.receive()
	return true
}

// Pending is how much Flush has to do: the number of commands gathered, or that
// of their ops if it is greater.
func (s *Session) Pending() int {
	switch {
	case s.g == nil:
		return 0
	case s.tx.running:
		return max(1, len(s.g.batch.Ops))
	}
	return max(len(s.g.items), len(s.g.batch.Ops))
}

// ProtocolError appends Redis' error for bytes that are no command, after the
// replies of what came before, and closes. text is without the code word; it
// begins with "Protocol error: ".
func (s *Session) ProtocolError(text string) {
	s.fatal = &Error{"ERR", text}
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

// Output is where the replies are gathered: Out.
func (s *Session) Output() *[]byte { return &s.Out }

// Authenticated says whether the full limits of size apply.
func (s *Session) Authenticated() bool { return s.account != nil }

// Closing says that the connection is to be closed once Out is written.
func (s *Session) Closing() bool { return s.closing }

// Close forgets the session; the transport calls it once, at the end. A batch
// that is away comes back without a Wake.
func (s *Session) Close() {
	s.state.Swap(closed)
	s.abandon()
	s.deafen()
	s.mu.Lock()
	s.inbox = inbox{closed: true}
	s.mu.Unlock()
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	delete(s.h.sessions, s.id)
}
