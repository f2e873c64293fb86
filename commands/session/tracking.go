package session

import (
	"sync/atomic"
	"time"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/commands/tracking"
	"limitsrv/engine"
	"limitsrv/internal/fatal"
)

// tracks is the CLIENT TRACKING state of a session.
type tracks struct {
	client   *tracking.Client
	mode     Tracking // without Redirect and Broken; only the session's own goroutine uses it
	redirect atomic.Int64
	broken   atomic.Bool
	reads    []tracking.Read   // the keys that the gathered commands read
	order    trackedOrder      // of the pending batch
	lookups  *tracking.Lookups // in the pending batch, of a front; nil: there are none
}

// A trackedOrder says when a node that does not lead calls Cluster.Fresh for a batch of a session
// that tracks. The messages about keys come from the state of this node, so its clients must not be
// ahead of them. The messages of a front come from the leader, so a front never has the order freshFirst.
type trackedOrder uint8

const (
	anyOrder trackedOrder = iota
	// freshFirst is the order of a batch that only reads. This node then executes it. The leader
	// must not: this node may apply a change first, send its messages, and register the read, and
	// the leader could still answer with the older value.
	freshFirst
	// freshLast is the order of a batch that may change a key that clients of this node have read:
	// the messages about its changes must not be later than its replies.
	freshLast
)

// expiryBeat is the time between two searches for tracked keys that have expired.
const expiryBeat = 100 * time.Millisecond

// Tracking returns the session's mode of CLIENT TRACKING.
func (s *Session) Tracking() Tracking {
	if s.tracks == nil {
		return Tracking{}
	}
	return s.tracks.shown(s.tracks.mode)
}

// shown returns mode with Redirect and Broken, which any goroutine may change.
func (k *tracks) shown(mode Tracking) Tracking {
	mode.Redirect, mode.Broken = k.redirect.Load(), k.broken.Load()
	return mode
}

// Prefixes returns the prefixes of the session's broadcast, in order.
func (s *Session) Prefixes() []string {
	if s.tracks == nil {
		return nil
	}
	return s.h.tracking.Prefixes(s.tracks.client)
}

// Track begins tracking, or changes its mode. prefixes are the prefixes of a broadcast. It returns
// an error if mode is a broadcast and the session's user does not have all keys.
func (s *Session) Track(mode Tracking, prefixes []string) error {
	if s.tracks == nil {
		k := &tracks{}
		k.client = tracking.NewClient(s.id, func(m resp.Message) { s.invalidate(k, m) })
		s.mu.Lock()
		s.tracks = k
		s.mu.Unlock()
	}
	k := s.tracks
	k.redirect.Store(mode.Redirect)
	k.broken.Store(false)
	s.setMode(Tracking{On: true, Broadcast: mode.Broadcast, NoLoop: mode.NoLoop, OptIn: mode.OptIn, OptOut: mode.OptOut})
	s.h.tracking.On(k.client, tracking.Mode{Broadcast: mode.Broadcast, NoLoop: mode.NoLoop}, prefixes)
	// Rights are checked after On, so that ReloadUsers misses no session.
	if mode.Broadcast && s.account != nil && !hearsAllKeys(s.account.Rights()) {
		s.EndTracking()
		return errNoKey
	}
	return nil
}

// hearsAllKeys reports whether a user may receive messages about every key.
func hearsAllKeys(r *auth.Rights) bool { return r.All() || r.AnyKey() }

// setMode sets the mode, also for CLIENT LIST.
func (s *Session) setMode(mode Tracking) {
	s.tracks.mode = mode
	s.show(func(c *clientInfo) { c.tracking = mode })
}

// EndTracking is CLIENT TRACKING OFF.
func (s *Session) EndTracking() {
	if s.tracks == nil {
		return
	}
	s.h.tracking.Off(s.tracks.client)
	s.tracks.redirect.Store(0)
	s.tracks.broken.Store(false)
	s.setMode(Tracking{})
}

// Cache is CLIENT CACHING: under OPTIN the next command or transaction is tracked, and under OPTOUT
// it is not. Requires: the session tracks.
func (s *Session) Cache() { s.tracks.mode.Caching = true }

// closeTracking ends tracking when the session closes.
func (s *Session) closeTracking() {
	if s.tracks != nil {
		s.h.tracking.Close(s.tracks.client)
	}
}

// endCaching ends the effect of CLIENT CACHING, except in a transaction.
func (s *Session) endCaching() {
	if s.tracks != nil && !s.tx.open {
		s.tracks.mode.Caching = false
	}
}

// trackReads notes the keys that a gathered command reads. Cost without tracking: a single load,
// also for trackRun and trackBatch.
func (s *Session) trackReads(c *Spec, args [][]byte) {
	if s.tracks != nil {
		s.noteReads(c, args)
		s.endCaching()
	}
}

// trackRun registers the keys of a run command, and the keys noted for commands that were not
// executed.
func (s *Session) trackRun(c *Spec, args [][]byte) {
	if s.tracks != nil {
		s.noteReads(c, args)
		s.registerReads(nil)
	}
}

// trackBatch registers the keys of the commands of a batch, and decides how a node that does not
// lead executes the batch.
func (s *Session) trackBatch(batch *engine.Batch) {
	k := s.tracks
	if k == nil {
		return
	}
	k.order = anyOrder
	atFront := s.h.AtFront()
	follows, looks := k.mode.On && (atFront || !batch.Stale && !s.h.config.Cluster.Leads()), batch.Looks()
	if follows && looks && len(k.reads) > 0 && !atFront {
		k.order = freshFirst
		return
	}
	s.registerReads(batch)
	if follows && !looks && s.h.tracking.Concerns(batch) {
		k.order = freshLast
	}
}

// execFresh executes the pending batch, which only reads, from the state of this node when that is
// fresh. Its keys are registered then: earlier changes cause no messages.
func (s *Session) execFresh() {
	s.h.config.Cluster.Fresh(func(err error) {
		s.h.config.Spawn(func() {
			if s.state.Load() == closed {
				err = errClosed
			}
			if err != nil {
				s.dropReads()
				s.done(err)
				return
			}
			batch := &s.g.batch
			s.registerReads(batch)
			batch.Stale = true
			if !s.g.tally.any() || s.mayEnter() {
				s.h.executor.Do(batch, s.done)
			}
		})
	})
}

// isSettled reports whether the completed batch may be answered: this node has applied what the
// batch has changed. If it returns false, the session is in the state away. An error of Cluster.Fresh
// does not change the answer of the batch.
func (s *Session) isSettled() bool {
	if s.tracks == nil || s.tracks.order != freshLast || s.err != nil {
		return true
	}
	if !s.askFresh() {
		return false
	}
	s.tracks.order = anyOrder
	if !s.tx.running {
		s.fresh = freshness{}
	}
	return true
}

// noteReads notes the keys that a command reads, so that they are registered before it is executed.
// A script counts as a reader of all its keys. Commands that Continue executes are tracked even
// without CLIENT CACHING, because it may have applied to the first attempt.
func (s *Session) noteReads(c *Spec, args [][]byte) {
	mode := &s.tracks.mode
	wanted := s.again || !(mode.OptIn && !mode.Caching) && !(mode.OptOut && mode.Caching)
	if mode.On && wanted && c.Flags&(spec.ReadOnly|spec.Runs) != 0 {
		for _, key := range c.KeysOf(args) {
			s.tracks.reads = append(s.tracks.reads, tracking.Read{DB: s.db, Key: key})
		}
	}
}

// registerReads registers the noted keys before the commands are executed. At a front it registers
// them before the front asks another node. Messages about these keys follow the replies, because
// only Resume writes the inbox. batch holds the commands; nil: a
// run command reads.
func (s *Session) registerReads(batch *engine.Batch) {
	k := s.tracks
	if batch != nil && k.mode.NoLoop {
		batch.Origin = s.id
	}
	switch {
	case len(k.reads) == 0:
		return
	case batch != nil && s.h.AtFront():
		k.lookups = s.h.tracking.RegisterIn(k.client, k.reads, batch)
	default:
		s.h.tracking.Register(k.client, k.reads)
	}
	s.dropReads()
}

// noteLookups takes the answers to the lookups in the completed batch.
func (s *Session) noteLookups() {
	if s.tracks == nil || s.tracks.lookups == nil {
		return
	}
	if s.err == nil {
		s.h.tracking.Answered(s.tracks.lookups, &s.g.batch, s.h.config.Clock.Now())
	}
	s.tracks.lookups = nil
}

// dropReads forgets the noted keys.
func (s *Session) dropReads() {
	clear(s.tracks.reads)
	s.tracks.reads = s.tracks.reads[:0]
}

// newTracking returns the table of the keys that clients track.
func (h *Handler) newTracking() *tracking.Table {
	o := tracking.Options{Track: h.config.Notices.Track, Await: h.awaitExpiries}
	if !h.AtFront() {
		o.Look = h.look
	}
	return tracking.New(o)
}

// look answers a read-only batch from the state of this node, and returns its time.
func (h *Handler) look(b *engine.Batch) engine.Instant {
	defer fatal.OnPanic()
	now := h.config.Clock.Now()
	h.config.Engine().Look(now, b)
	return now
}

// awaitExpiries calls Expire after expiryBeat, and again as long as tracked keys will expire.
func (h *Handler) awaitExpiries() {
	if !h.tracking.Expires() || h.serving.Err() != nil || !h.expiring.CompareAndSwap(false, true) {
		return
	}
	h.config.After(expiryBeat, func() {
		h.tracking.Expire(h.config.Clock.Now())
		h.expiring.Store(false)
		h.awaitExpiries()
	})
}

// invalidate sends a message of the table to the session, or to the session named by REDIRECT. A
// RESP2 session gets it only as a subscriber of tracking.Channel. Any goroutine may call it.
func (s *Session) invalidate(k *tracks, m resp.Message) {
	id := k.redirect.Load()
	if id == 0 {
		if s.inbox.proto3.Load() {
			s.inbox.send(m)
		}
		return
	}
	to := s.h.Session(id)
	switch {
	case to != nil && (to.inbox.proto3.Load() || s.h.hub.hears(tracking.Channel, &to.inbox)):
		to.inbox.send(m)
	case to == nil:
		k.broken.Store(true)
		if s.inbox.proto3.Load() {
			s.inbox.send(tracking.RedirectBroken(id))
		}
	}
}

// Session returns the session with an id, or nil.
func (h *Handler) Session(id int64) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// Tracked returns the table of the keys that clients track.
func (h *Handler) Tracked() *tracking.Table { return h.tracking }
