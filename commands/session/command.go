package session

import (
	"limitsrv/commands/resp"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/waiting"
	"limitsrv/engine"
)

// A Command is one line of the table. Arity, COMMAND, COMMAND DOCS, help and the README's
// table derive from it.
//
// It is an op command, with Op and Reply, or with Ask and Told, or a run command, with Run, or a container,
// with Sub; exactly one of these, except that a container may have a Run to answer its
// bare name.
type Command struct {
	Name string // as people write it: RL.TOKEN; a Sub has its own word only: SETNAME
	// Args is the usage after the name. The arity, the arguments of COMMAND DOCS and the
	// usage in help derive from it. Lower-case words are arguments and CAPITALS are
	// tokens; [x] is optional, <x> a group, a|b a choice of words, a | b a choice of
	// sequences in brackets, and ... before a closing bracket lets its contents repeat.
	Args       string
	Summary    string
	Complexity string
	Since      string // version of limitsrv, or of Redis for a command of Redis
	Group      string
	Flags      Flags
	Keys       Keys
	// Domain is the index of the argument that names a domain of rules, 0 for none. A user
	// needs a key pattern that matches rules.KeyPrefix and the domain.
	Domain int

	// Channels is the position of the words that are channels, or channel patterns if Patterns is
	// set.
	Channels Keys
	Patterns bool

	// Op appends the ops of a command line to b, at least one, or returns an *resp.Error and
	// leaves b unchanged. args[0] is the name. The number of args is valid for Args,
	// unless OwnArity is set.
	Op func(b *engine.Batch, args [][]byte) error
	// Reply writes one reply for the ops that Op appended; ds[i] is the decision on
	// ops[i]. nil: the last op is a Do, and the answer of its call is the reply.
	Reply func(w *resp.Writer, ops []engine.Op, ds []engine.Decision)

	// Work adds read-only calls to look. Their answers estimate the work of a line on the present
	// values. The unit is a visit to one element. nil: the work does not grow with the values.
	Work func(look *engine.Batch, db uint8, args [][]byte)

	// Ask, in place of Op, parses a line into a request that is decided by rules. Told writes
	// the reply; headers are working memory. Args, and the errors of Ask, are as those of Op.
	Ask  func(a *Ask, q *checks.Request, args [][]byte) error
	Told func(w *resp.Writer, a *Ask, answer *checks.Answer, headers *checks.Headers)

	// Uses returns the commands that the script of a line calls, or an error if a user with
	// restricted rights must not run the line. Commands with the flag Runs have it, unless they
	// require admin.
	Uses func(args [][]byte) (Uses, error)

	// Long is the least number of words, including the name, with which the answer of an op
	// command may be longer than a few bytes for each word. 0: the answer is always short.
	Long int

	// Wait, unless nil, makes an op command, of one call, wait while the answer is the nil of an
	// array, except in transactions.
	Wait *waiting.Command

	Run Run
	// Fresh reports whether a line reads, outside of batches, state that all nodes share. Run then
	// begins only after this node has every change that any node has answered before, and has
	// compiled the rules. Exception: a command that only reads, after READONLY. nil: no line reads
	// such state.
	Fresh func(args [][]byte) bool
	// Ahead, unless nil, is called by EXEC before the ops of later commands are made; Run
	// follows in its place among the replies.
	Ahead func(s *Session, args [][]byte)

	// Login, unless nil, returns the user and the password of a line of a run command that calls
	// Session.Login; ok is false for a line that does not.
	Login func(s *Session, args [][]byte) (name, password []byte, ok bool)

	Sub []Command

	// Surplus, unless nil, returns the error for a line with too many words.
	Surplus func(args [][]byte) error
}

// Uses is how a script calls commands, as far as its text says so.
type Uses struct {
	Names    []string // of the commands that it calls
	Constant bool     // it calls no others
	Declared bool     // their keys are keys of the line
}

// A Run executes a run command. It writes one reply to w, the session's writer. The ops of
// earlier commands have been executed.
type Run func(s *Session, w *resp.Writer, args [][]byte)

// Flags are the flags of COMMAND INFO, followed by internal ones.
type Flags uint32

const (
	Write Flags = 1 << iota
	ReadOnly
	DenyOOM
	Fast
	Admin
	NoAuth // allowed before login
	Loading
	Stale
	NoScript
	Blocking
	PubSub
	NoMulti   // rejected in a transaction
	Immediate // executed instead of queued in a transaction; internal
	Listener  // allowed for a RESP2 client with subscriptions; internal
	Unpaused  // not held back by CLIENT PAUSE; internal
	OwnArity  // Op checks the number of args and has its own error; internal
	Forgets   // deletes limits, which decide does not allow; internal
	Reaches   // sends, receives or lists pub/sub messages, which requires pubsub; internal
	AllKeys   // lists or deletes keys without naming them, which requires the pattern *; internal
	Secret    // arguments may be secrets, which MONITOR and SLOWLOG hide; internal
	AuthWord  // of a Secret command: only the words after AUTH are secret; internal
	Executes  // executes the queued commands of a transaction; internal
	Plain     // works on values only, which the groups of limits do not allow; internal
	OpenEnded // more words than Args describes are left to Op and the engine; internal
	Rules     // changes rules or overrides, or shows their text, which requires rules; internal
	Runs      // runs scripts or changes them, which requires admin, or with Uses scripting; internal
	Replaces  // may remove, move or shorten an existing value; internal
	Decides   // is a request with an Outcome; internal
)

// MayWrite reports whether a command may change a key.
func (f Flags) MayWrite() bool { return f&Write != 0 || f&(Runs|ReadOnly) == Runs }

// flagNames are the words of COMMAND INFO, by bit.
var flagNames = [...]string{
	"write", "readonly", "denyoom", "fast", "admin", "no_auth", "loading", "stale", "noscript", "blocking", "pubsub", "no_multi",
}

// Words returns the flags in the words of COMMAND INFO.
func (f Flags) Words() (words []string) {
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			words = append(words, name)
		}
	}
	return words
}

// Keys is the position of the keys: the first and last argument and the step, as in
// COMMAND; a Last of -1 is the last argument. With a Count, that argument is the number of
// keys, and they follow it. All zero: no keys.
type Keys struct{ First, Last, Step, Count int }

// HasOps reports whether the command is an op command.
func (c *Command) HasOps() bool { return c.Op != nil || c.Ask != nil }

// Usage returns the name and the arguments.
func (c *Command) Usage() string {
	if c.Args == "" {
		return c.Name
	}
	return c.Name + " " + c.Args
}
