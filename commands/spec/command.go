package spec

import (
	"limitsrv/commands/resp"
	"limitsrv/commands/usage"
	"limitsrv/engine"
)

// A Command is one line of a table. Arity, COMMAND, COMMAND DOCS, help, the README's table, and the
// look-up by scripts derive from it.
type Command struct {
	Name string // as people write it: RL.TOKEN; a subcommand has its own word only: SETNAME
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
	// Domain is the index of the argument that names a domain of rules, 0 if it names no
	// domain. A user needs a key pattern that matches rules.KeyPrefix and the domain.
	Domain int

	// Channels is the position of the words that are channels, or channel patterns if Patterns is
	// set.
	Channels Keys
	Patterns bool

	// Uses returns the commands that the script of a line calls, or an error if a user with
	// restricted rights must not run the line. Commands with the flag Runs have it, unless they
	// require admin.
	Uses func(args [][]byte) (Uses, error)

	// Long is the least number of words, including the name, with which the answer of a command
	// with Ops, a Call or a session.Run may be longer than a few bytes for each word. 0: the answer
	// is always short.
	Long int

	// Fresh reports whether a line reads, outside of batches, state that all nodes share. A
	// session.Run then begins only after this node has every change that any node has answered
	// before, and has compiled the rules. Exception: a command that only reads, after READONLY. nil:
	// no line reads such state.
	Fresh func(args [][]byte) bool

	// Front says how a front, a node without keys, carries out a line of a session.Run.
	Front AtFront

	// Surplus, unless nil, returns the error for a line with too many words.
	Surplus func(args [][]byte) error

	Body Body
}

// AtFront is a value of Command.Front.
type AtFront uint8

const (
	FrontRuns   AtFront = iota // runs it, as any node does
	FrontCounts                // reads the counts of the leader's state before
	FrontAsks                  // has another node answer
)

// LimiterGroup is the Group of the commands on limits.
const LimiterGroup = "limiter"

// A Body says how a command is carried out. It is one of *Ops, *Call or *Container, or a type of
// package session.
type Body interface{ Body() }

// Ops are the body of a command that is decided by ops of the engine.
type Ops struct {
	// Parse appends the ops of a command line to b, at least one, or returns an *resp.Error and
	// leaves b unchanged. args[0] is the name. The number of args is valid for Args,
	// unless OwnArity is set.
	Parse func(b *engine.Batch, args [][]byte) error
	// Reply writes one reply for the ops that Parse appended; ds[i] is the decision on
	// ops[i]. nil: the last op is a Do, and the answer of its call is the reply.
	Reply func(w *resp.Writer, ops []engine.Op, ds []engine.Decision)
	// Hide returns the answer of the call with nil in place of each name for which may returns false, because the
	// client has no pattern for the name. Without Hide, answers have no names except keys of the command line.
	// A command with Hide must not have Reply.
	Hide func(answer []byte, may func(name []byte) bool) []byte
	// Before is the maximum number of words for scripts at level 1 of calls; 0: as from level 2 on.
	Before int
}

// A Container is the body of a command with subcommands.
type Container struct {
	Sub  []Command
	Bare Body // for the name alone; nil: an error
}

// Body implements Body.
func (*Ops) Body() {}

// Body implements Body.
func (*Container) Body() {}

// Uses is how a script calls commands, as far as its text says so.
type Uses struct {
	Names    []string // of the commands that it calls
	Constant bool     // it calls no other commands
	Declared bool     // their keys are keys of the line
}

// Usage returns the name and the arguments.
func (c *Command) Usage() string {
	if c.Args == "" {
		return c.Name
	}
	return c.Name + " " + c.Args
}

// Words returns the bounds of the number of words of a line, the name included. With OpenEnded, or
// if the number varies for a Call, most is usage.Unlimited: the command has its own errors.
func (c *Command) Words() (least, most int) {
	least, most = usage.Counts(usage.Parse(c.Args))
	_, isCall := c.Body.(*Call)
	if c.Flags&OpenEnded != 0 || isCall && least != most {
		return least + 1, usage.Unlimited
	}
	return least + 1, most + 1
}
