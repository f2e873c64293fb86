package session

import (
	"sync/atomic"
	"time"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
	"limitsrv/commands/tracking"
	"limitsrv/engine"
	"limitsrv/fatal"
)

// tracks is the tracking of a session.
type tracks struct {
	client   *tracking.Client
	mode     Tracking // without Redirect and Broken; only the session's own goroutine uses it
	redirect atomic.Int64
	broken   atomic.Bool
	reads    []tracking.Read // of the gathered commands
}

// expiryBeat is the time between two looks for expired keys that clients have read.
const expiryBeat = 100 * time.Millisecond

// Tracking returns how the session tracks.
func (s *Session) Tracking() Tracking {
	if s.tracks == nil {
		return Tracking{}
	}
	return s.tracks.shown(s.tracks.mode)
}

// shown returns a mode with the parts that any goroutine may change.
func (k *tracks) shown(mode Tracking) Tracking {
	mode.Redirect, mode.Broken = k.redirect.Load(), k.broken.Load()
	return mode
}

// Prefixes returns the prefixes of the keys that are told to the session, in order.
func (s *Session) Prefixes() []string {
	if s.tracks == nil {
		return nil
	}
	return s.h.tracking.Prefixes(s.tracks.client)
}

// Track begins tracking, or changes how the session tracks; the prefixes are those of a broadcast. It
// returns an error if the session's user may not hear of all keys.
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
	if mode.Broadcast && s.account != nil && !hearsAllKeys(s.account.Rights()) { // after it began, so that ReloadUsers misses none
		s.EndTracking()
		return errNoKey
	}
	return nil
}

// hearsAllKeys reports whether a user may hear of any key that changes.
func hearsAllKeys(r *auth.Rights) bool { return r.All() || r.AnyKey() }

// setMode sets how the session tracks, also for CLIENT LIST.
func (s *Session) setMode(mode Tracking) {
	s.tracks.mode = mode
	s.show(func(c *clientInfo) { c.tracking = mode })
}

// EndTracking ends tracking.
func (s *Session) EndTracking() {
	if s.tracks == nil {
		return
	}
	s.h.tracking.Off(s.tracks.client)
	s.tracks.redirect.Store(0)
	s.tracks.broken.Store(false)
	s.setMode(Tracking{})
}

// Cache is CLIENT CACHING: the next command, or transaction, is tracked under OPTIN, and not under
// OPTOUT. Requires: the session tracks.
func (s *Session) Cache() { s.tracks.mode.Caching = true }

// closeTracking ends tracking for good.
func (s *Session) closeTracking() {
	if s.tracks != nil {
		s.h.tracking.Close(s.tracks.client)
	}
}

// endCaching ends the effect of CLIENT CACHING, if there is any, except in a transaction.
func (s *Session) endCaching() {
	if s.tracks != nil && !s.tx.open {
		s.tracks.mode.Caching = false
	}
}

// trackReads notes the keys of a command that is gathered. It costs a load without tracking, as trackRun
// and trackBatch do.
func (s *Session) trackReads(c *Spec, args [][]byte) {
	if s.tracks != nil {
		s.noteReads(c, args)
		s.endCaching()
	}
}

// trackRun registers the keys of a run command, and those of earlier commands that were not executed.
func (s *Session) trackRun(c *Spec, args [][]byte) {
	if s.tracks != nil {
		s.noteReads(c, args)
		s.registerReads(nil)
	}
}

// trackBatch registers the keys of the commands of a batch.
func (s *Session) trackBatch(batch *engine.Batch) {
	if s.tracks != nil {
		s.registerReads(batch)
	}
}

// noteReads notes the keys that a command reads, to register them before it is executed. A script
// reads the keys that it is given. Commands that are executed again are tracked in every mode,
// because the first time they may have been.
func (s *Session) noteReads(c *Spec, args [][]byte) {
	mode := &s.tracks.mode
	wanted := s.again || !(mode.OptIn && !mode.Caching) && !(mode.OptOut && mode.Caching)
	if mode.On && wanted && c.Flags&(ReadOnly|Runs) != 0 {
		for _, key := range c.KeysOf(args) {
			s.tracks.reads = append(s.tracks.reads, tracking.Read{DB: s.db, Key: key})
		}
	}
}

// registerReads registers the noted keys, before the commands are executed. Messages about them
// follow the replies, because Resume alone writes the inbox. batch has the commands; nil: a run command reads.
//
// A follower may have applied a change that its leader still has to apply. If it has told clients of
// it, the leader may then answer a look from before. So looks are not enough for other nodes: a
// batch with reads gets its place in the log, by an op that changes nothing.
func (s *Session) registerReads(batch *engine.Batch) {
	k := s.tracks
	if batch != nil && k.mode.NoLoop {
		batch.Origin = s.id
	}
	if len(k.reads) == 0 {
		return
	}
	tracked := s.h.tracking.Register(k.client, k.reads)
	if tracked && batch != nil && !batch.Stale && !s.h.config.Cluster.Leads() {
		batch.Ops = append(batch.Ops, engine.Op{Kind: engine.Release, DB: k.reads[0].DB, Key: k.reads[0].Key, ID: s.h.nobody})
	}
	clear(k.reads)
	k.reads = k.reads[:0]
}

// look answers a read-only batch from the state of this node, and returns its time.
func (h *Handler) look(b *engine.Batch) engine.Instant {
	defer fatal.OnPanic()
	now := h.config.Clock.Now()
	h.config.Engine().Look(now, b)
	return now
}

// awaitExpiries calls expire at the next beat, if keys that clients have read will expire.
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

// invalidate sends a message of the table to the session, or to the one to which it redirects them.
// RESP2 clients get it only by a subscription. Any goroutine may call it.
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

// Tracked returns the keys that clients track.
func (h *Handler) Tracked() *tracking.Table { return h.tracking }
