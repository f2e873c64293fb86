package commands

import (
	"fmt"
	"slices"
	"unsafe"

	"limitsrv/commands/resp"
	"limitsrv/engine"
)

// Bounds of a transaction.
const (
	maxQueued      = 16_384   // commands
	maxQueuedBytes = 16 << 20 // arguments, with EXEC's own memory
	maxWatched     = 1024     // keys

	// queuedCost and argCost are EXEC's memory in bytes for a command and for each of its
	// arguments, which may become an op.
	queuedCost = 64
	argCost    = 128
)

// A transaction is the state of MULTI and WATCH. Its zero value is no transaction.
type transaction struct {
	open    bool
	dirty   bool // a command was rejected: EXEC will discard
	running bool // EXEC has moved the queue into the session's batch
	expects int  // number of Expect ops, for WATCH, at the head of that batch

	// keyed is set if a queued command must run on the node that owns the slot of its
	// key: slot, of the first such command.
	keyed bool
	slot  int

	watched []watched
	queue   []queued
	bytes   []byte  // arguments of all queued commands
	ends    []int32 // end of each argument in bytes
	cost    int
}

// A watched key with its Fingerprint at WATCH.
type watched struct {
	key         []byte
	fingerprint int64
}

// A queued command has args arguments, which follow those of the previous one.
type queued struct {
	spec *spec
	args int
}

var (
	errNested      = resp.NewError("ERR", "MULTI calls can not be nested")
	errNoMulti     = resp.NewError("ERR", "Command not allowed inside a transaction")
	errExecNoMulti = resp.NewError("ERR", "EXEC without MULTI")
	errDiscard     = resp.NewError("ERR", "DISCARD without MULTI")
	errExecAbort   = resp.NewError("EXECABORT", "Transaction discarded because of previous errors.")
	errExecLoading = resp.NewError("EXECABORT", "Transaction discarded because of: "+errLoading.Error())
	errWatchInside = resp.NewError("ERR", "WATCH inside MULTI is not allowed")
	errQueueFull   = resp.NewError("ERR", fmt.Sprintf("transaction is too large: at most %d commands and %d bytes may be queued", maxQueued, maxQueuedBytes))
	errWatchMany   = resp.NewError("ERR", fmt.Sprintf("too many watched keys: at most %d", maxWatched))
)

var multi = Command{
	Name: "MULTI", Summary: "Starts a transaction.",
	Complexity: "O(1)", Since: "1.2.0", Group: "transactions", Flags: NoScript | Loading | Stale | Fast | Immediate,
	Run: func(s *Session, _ [][]byte) {
		if s.tx.open {
			s.w.Error(errNested)
			return
		}
		s.tx.open = true
		s.queued.Store(1)
		s.w.OK()
	},
}

var exec = Command{
	Name: "EXEC", Summary: "Executes the commands of a transaction atomically.",
	Complexity: "Depends on the commands of the transaction", Since: "1.2.0", Group: "transactions", Flags: NoScript | Loading | Stale | Immediate,
	Run: runExec,
}

var discard = Command{
	Name: "DISCARD", Summary: "Discards a transaction.",
	Complexity: "O(N), N being the commands queued", Since: "2.0.0", Group: "transactions", Flags: NoScript | Loading | Stale | Fast | Immediate,
	Run: func(s *Session, _ [][]byte) {
		if !s.tx.open {
			s.w.Error(errDiscard)
			return
		}
		s.endTransaction()
		s.w.OK()
	},
}

var watch = Command{
	Name: "WATCH", Args: "key [key ...]", Summary: "Makes the next transaction fail if one of the keys changes before it.",
	Complexity: "O(1) for each key", Since: "2.2.0", Group: "transactions", Flags: NoScript | Loading | Stale | Fast | Immediate,
	Keys: Keys{First: 1, Last: -1, Step: 1},
	Run:  runWatch,
}

var unwatch = Command{
	Name: "UNWATCH", Summary: "Clears the watched keys.",
	Complexity: "O(1)", Since: "2.2.0", Group: "transactions", Flags: NoScript | Loading | Stale | Fast,
	Run: func(s *Session, _ [][]byte) {
		s.tx.watched = nil
		s.w.OK()
	},
}

// queue stores a copy of a command for EXEC.
func (s *Session) queue(c *spec, args [][]byte) {
	tx := &s.tx
	cost := tx.cost + queuedCost
	for _, a := range args {
		cost += argCost + len(a)
	}
	switch {
	case c.Flags&NoMulti != 0:
		s.reject(c, errNoMulti)
		return
	case len(tx.queue) == maxQueued || cost > maxQueuedBytes:
		s.reject(c, errQueueFull)
		return
	}
	if !tx.keyed && s.isForLeader(c, args) {
		tx.keyed, tx.slot = true, keySlot(args[c.Keys.First])
	}
	for _, a := range args {
		tx.bytes = append(tx.bytes, a...)
		tx.ends = append(tx.ends, int32(len(tx.bytes)))
	}
	tx.queue = append(tx.queue, queued{c, len(args)})
	tx.cost = cost
	s.queued.Store(int64(len(tx.queue)) + 1)
	s.queuedBytes.Store(int64(cap(tx.bytes)) + int64(cap(tx.ends))*int64(unsafe.Sizeof(int32(0))) + int64(cap(tx.queue))*int64(unsafe.Sizeof(queued{})))
	s.add(item{}) // +QUEUED
}

// endTransaction discards the transaction and the watched keys.
func (s *Session) endTransaction() {
	s.tx = transaction{}
	s.queued.Store(0)
	s.queuedBytes.Store(0)
}

// runExec moves the queue into the batch, or answers an error. Requires: the batch is
// empty.
func runExec(s *Session, _ [][]byte) {
	switch {
	case !s.tx.open:
		s.w.Error(errExecNoMulti)
		return
	case s.tx.dirty:
		s.endTransaction()
		s.w.Error(errExecAbort)
		return
	}
	tx := &s.tx
	batch := &s.gathered().batch
	tx.running, batch.Atomic = true, true
	for _, k := range tx.watched {
		batch.Ops = append(batch.Ops, engine.Op{Kind: engine.Expect, Key: k.key, N: k.fingerprint})
	}
	tx.expects = len(tx.watched)
	var (
		all  = make([][]byte, len(tx.ends))
		from int32
	)
	for i, end := range tx.ends {
		all[i] = tx.bytes[from:end:end]
		from = end
	}
	for _, q := range tx.queue {
		args := all[:q.args:q.args]
		all = all[q.args:]
		if err := s.recheck(q.spec, args); err != nil {
			s.add(item{spec: q.spec, err: err, args: args})
			continue
		}
		if q.spec.Op != nil {
			s.gather(q.spec, args)
			continue
		}
		s.exhibit(q.spec, args)
		s.add(item{spec: q.spec, args: args})
	}
}

// recheck returns an error if a queued command is not permitted any more.
func (s *Session) recheck(c *spec, args [][]byte) error {
	if s.account == nil || s.h.attention.Load()&guarded == 0 {
		return nil
	}
	why, _ := c.deny(s.account.Rights(), args)
	switch why {
	case deniedCommand:
		return resp.NewError("NOPERM", queuedBefore+"no permission to execute the command or subcommand")
	case deniedKey:
		return resp.NewError("NOPERM", queuedBefore+"no permission to touch the specified keys")
	}
	return nil
}

const queuedBefore = "ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
	"This command is no longer allowed for the following reason: "

func runWatch(s *Session, args [][]byte) {
	if s.tx.open {
		s.w.Error(errWatchInside)
		return
	}
	keys := args[1:]
	if len(s.tx.watched)+len(keys) > maxWatched {
		s.w.Error(errWatchMany)
		return
	}
	for _, k := range keys {
		if err := parseKey(k); err != nil {
			s.w.Error(err)
			return
		}
	}
	batch := &engine.Batch{Stale: s.stale} // stale too, so that later reads are not older than the watched state
	for _, k := range keys {
		batch.Ops = append(batch.Ops, engine.Op{Kind: engine.Watch, Key: slices.Clone(k)})
	}
	s.deferReply(func(done func(error)) error {
		s.h.exec(batch, done)
		return nil
	}, func(w *resp.Writer) { s.storeWatched(w, batch) })
}

// storeWatched stores the fingerprints that the Watch ops of a batch returned.
func (s *Session) storeWatched(w *resp.Writer, batch *engine.Batch) {
	if anyIs(batch.Decisions, engine.Down) {
		w.Error(errDown)
		return
	}
	for i := range batch.Ops {
		s.tx.watched = append(s.tx.watched, watched{batch.Ops[i].Key, batch.Decisions[i].Remaining})
	}
	w.OK()
}
