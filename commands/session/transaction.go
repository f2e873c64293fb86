package session

import (
	"fmt"
	"unsafe"

	"limitsrv/commands/backend"
	"limitsrv/commands/resp"
)

// Bounds of a transaction.
const (
	maxQueued      = 16_384   // commands
	maxQueuedBytes = 16 << 20 // arguments, with EXEC's own memory

	// queuedCost and argCost are EXEC's memory in bytes for a command and for each of its
	// arguments, which may become an op.
	queuedCost = 64
	argCost    = 128
)

// A transaction is the state of MULTI and WATCH. Its zero value is no transaction.
type transaction struct {
	open    bool
	dirty   bool  // a command was rejected: EXEC will discard
	running bool  // EXEC has moved the queue into the session's batch
	expects int   // number of Expect ops, for WATCH, at the head of that batch
	reads   bool  // a command of the batch has Command.Fresh
	dearest int64 // the largest Batch.Work of a command

	// keyed is set if a queued command must run on the node that owns the slot of its
	// key: slot, of the first such command.
	keyed bool
	slot  int

	// logsIn is set if a queued command has Command.Login. checked are the queued commands, and their
	// words, of which EXEC has checked the passwords so far.
	logsIn      bool
	checked     struct{ commands, words int }
	logins      []queuedLogin
	cancelLogin func() // of the last login; nil: none was begun

	rendering

	watched []watched
	queue   []queued
	bytes   []byte   // arguments of all queued commands
	ends    []int32  // end of each argument in bytes
	all     [][]byte // the arguments, see words
	cost    int
}

// A watched key with its Fingerprint at WATCH.
type watched struct {
	db          uint8
	key         []byte
	fingerprint int64
}

// A queued command has args arguments, which follow those of the previous one.
type queued struct {
	spec *Spec
	args int
}

var (
	errNoMulti   = resp.NewError("ERR", "Command not allowed inside a transaction")
	errQueueFull = resp.NewError("ERR", fmt.Sprintf("transaction is too large: at most %d commands and %d bytes may be queued", maxQueued, maxQueuedBytes))
)

// isSurplus reports whether a line has too many words for a command that takes different numbers of
// words. Redis queues such a line in a transaction, because it only knows the least number.
func (c *Spec) isSurplus(args [][]byte) bool {
	return c != nil && c.Min < c.Max && len(args) > c.Max && c.Flags&Immediate == 0
}

// queue stores a copy of a command for EXEC.
func (s *Session) queue(c *Spec, args [][]byte) {
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
		tx.keyed, tx.slot = true, backend.KeySlot(args[c.positions(args).First])
	}
	for _, a := range args {
		tx.bytes = append(tx.bytes, a...)
		tx.ends = append(tx.ends, int32(len(tx.bytes)))
	}
	tx.queue = append(tx.queue, queued{c, len(args)})
	tx.logsIn = tx.logsIn || c.Login != nil
	tx.cost = cost
	s.queued.Store(int64(len(tx.queue)) + 1)
	s.queuedBytes.Store(int64(cap(tx.bytes)) + int64(cap(tx.ends))*int64(unsafe.Sizeof(int32(0))) + int64(cap(tx.queue))*int64(unsafe.Sizeof(queued{})))
	s.add(item{}) // +QUEUED
}

// words returns the words of all queued commands, one command behind the other. Requires: no further
// command will be queued.
func (tx *transaction) words() [][]byte {
	if tx.all == nil {
		tx.all = make([][]byte, len(tx.ends))
		from := int32(0)
		for i, end := range tx.ends {
			tx.all[i] = tx.bytes[from:end:end]
			from = end
		}
	}
	return tx.all
}

// endTransaction discards the transaction and the watched keys.
func (s *Session) endTransaction() {
	s.tx, s.fresh = transaction{}, freshness{}
	s.endCaching()
	s.queued.Store(0)
	s.queuedBytes.Store(0)
}
