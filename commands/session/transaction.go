package session

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/engine/slots"
)

// Bounds of a transaction.
const (
	maxQueued      = 16_384   // commands
	maxQueuedBytes = 16 << 20 // arguments, with EXEC's own memory
	fewQueuedBytes = 64 << 10 // see sharedMemory.refuses

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
	reads   bool  // a command of the batch has spec.Command.Fresh
	settled int64 // the work of the commands with known work

	// keyed is set if a queued command must run on the node that owns the slot of its
	// key: slot, of the first such command.
	keyed bool
	slot  slots.Slot

	// logsIn is set if a queued command has Command.Login. checked counts the queued commands, and
	// their words, that EXEC has searched for passwords so far.
	logsIn      bool
	checked     struct{ commands, words int }
	logins      []queuedLogin
	cancelLogin func() // of the last login; nil: no login was begun

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

// A queued command has args arguments, which follow the arguments of the previous command.
type queued struct {
	spec *Spec
	args int
}

var (
	errNoMulti   = resp.NewError("ERR", "Command not allowed inside a transaction")
	errQueueFull = resp.NewError("ERR",
		fmt.Sprintf("transaction is too large: at most %d commands and %d bytes may be queued", maxQueued, maxQueuedBytes))
	errAllQueued = resp.NewError("ERR", fmt.Sprintf("transaction is too large while other clients have large "+
		"transactions: all together may queue %d bytes", maxShared))
)

// isSurplus reports whether a line has too many words for a command that takes different numbers of
// words. Redis queues such a line in a transaction, because it only knows the least number.
func (c *Spec) isSurplus(args [][]byte) bool {
	return c != nil && c.Min < c.Max && len(args) > c.Max && c.Flags&spec.Immediate == 0
}

// queue stores a copy of a command for EXEC.
func (s *Session) queue(c *Spec, args [][]byte) {
	tx := &s.tx
	cost := tx.cost + queuedCost
	for _, a := range args {
		cost += argCost + len(a)
	}
	switch {
	case c.Flags&spec.NoMulti != 0:
		s.reject(c, errNoMulti)
		return
	case len(tx.queue) == maxQueued || cost > maxQueuedBytes:
		s.reject(c, errQueueFull)
		return
	case s.h.queuedBytes.refuses(int64(cost), fewQueuedBytes):
		s.reject(c, errAllQueued)
		return
	}
	if !tx.keyed && s.isForLeader(c, args) {
		tx.keyed, tx.slot = true, slots.Of(args[c.positions(args).First])
	}
	for _, a := range args {
		tx.bytes = append(tx.bytes, a...)
		tx.ends = append(tx.ends, int32(len(tx.bytes)))
	}
	tx.queue = append(tx.queue, queued{c, len(args)})
	tx.logsIn = tx.logsIn || c.Login != nil
	tx.cost = cost
	s.queued.Store(int64(len(tx.queue)) + 1)
	s.queuedBytes.set(&s.h.queuedBytes, int64(cap(tx.bytes))+int64(cap(tx.ends))*int64(unsafe.Sizeof(int32(0)))+
		int64(cap(tx.queue))*int64(unsafe.Sizeof(queued{})))
	s.add(item{}) // +QUEUED
}

// words returns the words of all queued commands in their order. Requires: no further command will
// be queued.
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
	s.watchBytes.set(&s.h.watchBytes, 0)
	s.endCaching()
	s.queued.Store(0)
	s.queuedBytes.set(&s.h.queuedBytes, 0)
}

// A queuedLogin is the result of a login of a transaction.
type queuedLogin struct {
	at      int           // index of the command in the queue
	account *auth.Account // nil if err is set
	err     error
}

// loginAt returns the result of the login of a queued command. It is an error if EXEC took the
// command for a command that does not log in.
func (tx *transaction) loginAt(at int) queuedLogin {
	i, found := slices.BinarySearchFunc(tx.logins, at, func(l queuedLogin, at int) int { return cmp.Compare(l.at, at) })
	if found {
		return tx.logins[i]
	}
	return queuedLogin{err: errNoMulti}
}

// logsIn reports whether c may start as far as logins go: EXEC starts after the passwords of the
// queued commands have been checked, one at a time. If it returns false, the session is in the state
// away.
func (s *Session) logsIn(c *Spec) bool {
	tx := &s.tx
	if c.Flags&spec.Executes == 0 || !tx.logsIn || tx.dirty {
		return true
	}
	words := tx.words()
	for tx.checked.commands < len(tx.queue) {
		at, from := tx.checked.commands, tx.checked.words
		q := &tx.queue[at]
		tx.checked.commands++
		tx.checked.words += q.args
		if !s.checkQueued(at, q.spec, words[from:tx.checked.words]) {
			return false
		}
	}
	return true
}

// checkQueued checks the password of a queued command that logs in, and reports whether the check is
// complete.
func (s *Session) checkQueued(at int, c *Spec, args [][]byte) bool {
	if c.Login == nil {
		return true
	}
	name, password, ok := c.Login(s, args)
	if !ok {
		return true
	}
	s.state.Store(executing)
	s.tx.cancelLogin = s.h.logins.Begin(s.client.Addr, string(name), password, func(a *auth.Account, err error) {
		s.tx.logins = append(s.tx.logins, queuedLogin{at, a, err})
		s.done(nil)
	})
	if s.state.CompareAndSwap(executing, away) {
		s.began = 0
		return false
	}
	s.state.CompareAndSwap(arrived, idle)
	return true
}
