package session

import (
	"fmt"
	"slices"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

const (
	// maxWatched bounds the watched keys of a session.
	maxWatched    = 1024
	fewWatched    = 16 << 10 // see sharedMemory.refuses
	bytesPerWatch = 64       // besides the key
)

var (
	errNested      = resp.NewError("ERR", "MULTI calls can not be nested")
	errExecNoMulti = resp.NewError("ERR", "EXEC without MULTI")
	errDiscard     = resp.NewError("ERR", "DISCARD without MULTI")
	errExecAbort   = resp.NewError("EXECABORT", "Transaction discarded because of previous errors.")
	errWatchInside = resp.NewError("ERR", "WATCH inside MULTI is not allowed")
	errWatchMany   = resp.NewError("ERR", fmt.Sprintf("too many watched keys: at most %d", maxWatched))
	errAllWatched  = resp.NewError("ERR",
		fmt.Sprintf("too many watched keys: the keys of all clients together may take %d bytes", maxShared))
)

// Multi is MULTI: it opens a transaction.
func (s *Session) Multi() error {
	if s.tx.open {
		return errNested
	}
	s.tx.open = true
	s.queued.Store(1)
	return nil
}

// Discard is DISCARD: it ends the transaction and clears the watched keys.
func (s *Session) Discard() error {
	if !s.tx.open {
		return errDiscard
	}
	s.endTransaction()
	return nil
}

// InExec reports whether the run command is part of a transaction that EXEC executes.
func (s *Session) InExec() bool { return s.tx.running }

// Exec is EXEC: it moves the queue into the batch, or returns an error. The replies follow
// with the decisions on the batch. Requires: it is called by a run command with the flag
// Executes, so that the batch is empty.
func (s *Session) Exec() error {
	switch {
	case !s.tx.open:
		return errExecNoMulti
	case s.tx.dirty:
		s.endTransaction()
		return errExecAbort
	}
	tx := &s.tx
	batch := &s.gathered().batch
	tx.running, batch.Atomic = true, true
	for _, k := range tx.watched {
		batch.Ops = append(batch.Ops, engine.ExpectOf(k.db, k.key, k.fingerprint))
	}
	tx.expects = len(tx.watched)
	all, account := tx.words(), s.account
	db := s.db
	for i, q := range tx.queue {
		args := all[:q.args:q.args]
		all = all[q.args:]
		if err := s.recheck(account, q.spec, args); err != nil {
			s.add(item{spec: q.spec, err: err, args: args})
			continue
		}
		if q.spec.HasOps() {
			s.gather(q.spec, args)
			continue
		}
		s.feedMonitors(q.spec, args)
		if s.tracks != nil {
			s.noteReads(q.spec, args)
		}
		if q.spec.Ahead != nil {
			q.spec.Ahead(s, args)
		}
		if l := tx.loginAt(i); l.err == nil {
			account = l.account
		}
		tx.reads = tx.reads || s.reads(q.spec, args)
		if s.asks(q.spec) {
			s.fresh.lines = append(s.fresh.lines, s.lineOf(args))
		}
		s.add(item{spec: q.spec, args: args})
	}
	if s.db != db {
		s.Select(db)
	}
	if work := batch.Work; work > MostWork {
		s.giveBack()
		s.endTransaction()
		return errExecDear(work)
	}
	return nil
}

// recheck returns an error if a queued command is not permitted any more, or not to the account as
// which an earlier command of the transaction logs in, or if it has too many words.
func (s *Session) recheck(account *auth.Account, c *Spec, args [][]byte) error {
	if c.isSurplus(args) && c.Flags&spec.OwnArity == 0 {
		return c.wrongArity(args)
	}
	if account == nil || s.h.hooks.Load()&guarded == 0 {
		return nil
	}
	why, _ := c.Deny(account.Rights(), args)
	switch why {
	case DeniedCommand:
		return resp.NewError("NOPERM", queuedBefore+"no permission to execute the command or subcommand")
	case DeniedKey:
		return resp.NewError("NOPERM", queuedBefore+"no permission to touch the specified keys")
	case DeniedChannel:
		return resp.NewError("NOPERM",
			queuedBefore+"no permission to access one of the channels used as arguments to the command")
	}
	return c.DenyScript(account.Rights(), args)
}

const queuedBefore = "ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
	"This command is no longer allowed for the following reason: "

// MayWatch returns an error if the session can not watch these keys too.
func (s *Session) MayWatch(keys [][]byte) error {
	switch {
	case s.tx.open:
		return errWatchInside
	case len(s.tx.watched)+len(keys) > maxWatched:
		return errWatchMany
	case s.h.watchBytes.refuses(s.watchBytes.Load()+watchBytes(keys), fewWatched):
		return errAllWatched
	}
	return nil
}

// Watch is WATCH: it watches keys, and replies when their fingerprints are there.
// Requires: MayWatch returned nil.
func (s *Session) Watch(keys [][]byte) {
	batch := &engine.Batch{Stale: s.stale} // stale too, so that later reads are not older than the watched state
	for _, k := range keys {
		batch.Ops = append(batch.Ops, engine.Op{Kind: engine.Watch, DB: s.db, Key: slices.Clone(k)})
	}
	memory := s.watchBytes.Load() + watchBytes(keys)
	s.Perform(batch, func(w *resp.Writer) {
		s.storeWatched(w, batch)
		s.watchBytes.set(&s.h.watchBytes, memory)
	})
}

// watchBytes returns the estimated memory of watched keys.
func watchBytes(keys [][]byte) (n int64) {
	for _, k := range keys {
		n += int64(len(k)) + bytesPerWatch
	}
	return n
}

// Unwatch is UNWATCH: it clears the watched keys.
func (s *Session) Unwatch() {
	s.tx.watched = nil
	s.watchBytes.set(&s.h.watchBytes, 0)
}

// storeWatched stores the fingerprints that the Watch ops of a batch returned.
func (s *Session) storeWatched(w *resp.Writer, batch *engine.Batch) {
	for i := range batch.Ops {
		s.tx.watched = append(s.tx.watched, watched{batch.Ops[i].DB, batch.Ops[i].Key, batch.Decisions[i].Remaining})
	}
	w.OK()
}
