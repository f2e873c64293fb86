package commands

import "limitsrv/engine"

// A Command is one line of the table, from which arity, COMMAND, COMMAND DOCS,
// help and the README's table derive.
//
// It is an op command, with Op and Reply, or a run command, with Run, or a
// container, with Sub; never two of these.
type Command struct {
	Name string // as COMMAND DOCS and people write it: RL.TOKEN
	// Args is the usage behind the name, the source of the arity, of COMMAND DOCS' arguments and of the
	// usage in errors: words are arguments, [x] is optional, CAPITALS are tokens, a|b a choice, ... repeats what is before it.
	Args       string
	Summary    string
	Complexity string
	Since      string
	Group      string
	Flags      Flags
	Keys       Keys

	// Op appends the ops of a command line to b, or returns an *Error and leaves b as it was. args[0] is the name.
	Op func(b *engine.Batch, args [][]byte) error
	// Reply answers the ops that Op appended: ops and ds go together.
	Reply func(w *Reply, ops []engine.Op, ds []engine.Decision)

	Run func(s *Session, args [][]byte)

	Sub []Command
}

// Flags are those of COMMAND INFO.
type Flags uint16

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
)

// Keys says where the keys stand: the first and last argument and the step, as COMMAND tells them; Last -1 is the last argument.
// All zero: none. Movable: found by parsing.
type Keys struct {
	First, Last, Step int
	Movable           bool
}

// An Error is what a client may act on. Code is the word that an error reply starts with and keeps its meaning for ever.
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Code + " " + e.Text }

// Reply appends RESP2 or RESP3 to a buffer.
type Reply struct {
	buf    []byte
	proto3 bool
}

func (w *Reply) Int(n int64)         {}
func (w *Reply) Bulk(b []byte)       {}
func (w *Reply) BulkString(s string) {}
func (w *Reply) Simple(s string)     {} // +OK
func (w *Reply) Array(n int)         {} // head only
func (w *Reply) Map(pairs int)       {} // RESP2: a flat array of 2*pairs
func (w *Reply) Set(n int)           {} // RESP2: an array
func (w *Reply) Null()               {} // RESP2: $-1
func (w *Reply) NullArray()          {} // RESP2: *-1
func (w *Reply) Bool(v bool)         {} // RESP2: :1 :0
func (w *Reply) Double(f float64)    {} // RESP2: bulk
func (w *Reply) Verbatim(s string)   {} // RESP2: bulk; RESP3 =txt:
func (w *Reply) Error(err error)     {} // -CODE text; others than *Error are logged and answered as internal
