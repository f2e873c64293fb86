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

	rendering

	watched []watched
	queue   []queued
	bytes   []byte  // arguments of all queued commands
	ends    []int32 // end of each argument in bytes
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
	errNoMulti     = resp.NewError("ERR", "Command not allowed inside a transaction")
	errExecLoading = resp.NewError("EXECABORT", "Transaction discarded because of: "+errLoading.Error())
	errQueueFull   = resp.NewError("ERR", fmt.Sprintf("transaction is too large: at most %d commands and %d bytes may be queued", maxQueued, maxQueuedBytes))
)

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
	tx.cost = cost
	s.queued.Store(int64(len(tx.queue)) + 1)
	s.queuedBytes.Store(int64(cap(tx.bytes)) + int64(cap(tx.ends))*int64(unsafe.Sizeof(int32(0))) + int64(cap(tx.queue))*int64(unsafe.Sizeof(queued{})))
	s.add(item{}) // +QUEUED
}

// endTransaction discards the transaction and the watched keys.
func (s *Session) endTransaction() {
	s.tx, s.fresh = transaction{}, freshness{}
	s.endCaching()
	s.queued.Store(0)
	s.queuedBytes.Store(0)
}
