package commands

import "limitsrv/engine"

// A Command is one line of the table, from which arity, COMMAND, COMMAND DOCS,
// help and the README's table derive.
//
// It is an op command, with Op and Reply, or a run command, with Run, or a
// container, with Sub; never two of these, but that a container's Run, if it has
// one, answers its bare name.
type Command struct {
	Name string // as people write it: RL.TOKEN; of a Sub its own word only: SETNAME
	// Args is the usage behind the name, the source of the arity, of COMMAND DOCS'
	// arguments and of the usage in help. Words are arguments and CAPITALS are
	// tokens; [x] is optional, <x> a group, a|b a choice of words, a | b a choice of
	// sequences in brackets, and ... at the end of brackets lets them repeat.
	Args       string
	Summary    string
	Complexity string
	Since      string // version of limitsrv, or of Redis for a command that comes from there
	Group      string
	Flags      Flags
	Keys       Keys

	// Op appends the ops of a command line to b, one at least, or returns an *Error
	// and leaves b as it was. args[0] is the name. The number of args fits Args, but under OwnArity.
	Op func(b *engine.Batch, args [][]byte) error
	// Reply answers the ops that Op appended, with one reply: ops and ds go together.
	Reply func(w *Reply, ops []engine.Op, ds []engine.Decision)

	// Run appends one reply to s.w. Ops of commands before it are done by then.
	Run func(s *Session, args [][]byte)

	Sub []Command
}

// Flags are those of COMMAND INFO, and those that are not shown.
type Flags uint32

const (
	Write Flags = 1 << iota
	ReadOnly
	DenyOOM
	Fast
	Admin
	NoAuth // may be called before login
	Loading
	Stale
	NoScript
	Blocking
	PubSub
	NoMulti   // may not stand in a transaction
	Immediate // is carried out and not queued in a transaction; not shown
	Listener  // may be sent by a RESP2 client that listens; not shown
	Unpaused  // is not held back by CLIENT PAUSE; not shown
	OwnArity  // Op checks the number of args itself, with an error of its own; not shown
	Forgets   // drops keys, which is for admins; not shown
	Reaches   // sends to other clients, or tells what they listen to, which is for admins; not shown
	AllKeys   // shows or drops keys without naming them, and needs the pattern *; not shown
	Secret    // arguments may be secrets, which MONITOR and SLOWLOG do not show; not shown
)

// flagNames are the words of COMMAND INFO, by bit.
var flagNames = [...]string{
	"write", "readonly", "denyoom", "fast", "admin", "no_auth", "loading", "stale", "noscript", "blocking", "pubsub", "no_multi",
}

// Keys says where the keys stand: the first and last argument and the step, as
// COMMAND tells them; Last -1 is the last argument. All zero: none.
type Keys struct{ First, Last, Step int }

// An Error is what a client may act on. Code is the word that an error reply
// starts with and keeps its meaning for ever.
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Code + " " + e.Text }
