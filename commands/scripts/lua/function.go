package lua

import "limitsrv/commands/scripts/lua/value"

// A Loop is an iterator that for loops know.
type Loop uint8

// The iterators.
const (
	NoLoop    Loop = iota
	LoopNext       // next
	LoopArray      // the function that ipairs returns
)

// A Function is a function of Go that scripts can call. Exactly one of the fields One and Many is
// set. args is valid during the call, and results of Many until the next call; both must not be
// retained. A Function reports an error by State.Raise, or by another method of State that raises
// errors.
type Function struct {
	Name string
	// One returns a single result.
	One func(st *State, args []value.Value) value.Value
	// Unary, if not nil, is One for a single argument, without a list of arguments. ok is
	// false, and nothing has happened, if One must be called.
	Unary func(st *State, arg value.Value) (v value.Value, ok bool)
	// Many returns any number of results.
	Many func(st *State, args []value.Value) []value.Value
	// Bind, if not nil, is called for each compiled call with a constant string as its first
	// argument, perhaps more than once. It returns a function that is called instead, with
	// all arguments, or nil.
	Bind func(first *value.String) *Function
	// Loop says that the function is an iterator that loops need not call.
	Loop Loop

	serial uint32
}

// Serial returns the number that replaces the function's address.
func (g *Function) Serial() uint32 { return g.serial }

// call calls g and returns all results.
func (g *Function) call(st *State, args []value.Value) []value.Value {
	if g.One == nil {
		return g.Many(st, args)
	}
	v := g.One(st, args)
	st.single[0] = v
	return st.single[:]
}

// call1 calls g and returns the first result.
func (g *Function) call1(st *State, args []value.Value) value.Value {
	if g.One != nil {
		return g.One(st, args)
	}
	return first(g.Many(st, args))
}

// first returns the first of some values, or nil.
func first(values []value.Value) value.Value {
	if len(values) == 0 {
		return value.Nil
	}
	return values[0]
}

// A box is a captured variable.
type box struct{ v value.Value }

// A closure is a function of Lua.
type closure struct {
	proto    *proto
	upvalues []*box
	serial   uint32
}

// Serial returns the number that replaces the function's address.
func (c *closure) Serial() uint32 { return c.serial }

// A proto is a compiled function. It does not change, so any number of states may use it.
type proto struct {
	source      string // name of the chunk as it was given
	chunk       string // and as errors show it
	params      int
	slots       int
	vararg      bool
	arg         int  // slot of the variable "arg", or -1
	needsArg    bool // it is a table
	argCaptured bool
	boxes       bool // some locals are captured
	captured    []int
	nesting     int // of its expressions and statements
	body        statement
}

// A Chunk is a compiled script. Any number of states may run it at once.
type Chunk struct {
	main   *proto
	native *proto // main for Native runs
	size   int
}

// Size returns an estimate of the memory of the chunk, in bytes.
func (c *Chunk) Size() int { return c.size }

// of returns the main function for a Native run, or for any other run.
func (c *Chunk) of(native bool) *proto {
	if native {
		return c.native
	}
	return c.main
}

// A site is a place in a function that can fail or call: its line, and the description of
// the value in question, as "local" and "x".
type site struct {
	line       int
	kind, name string
}

// nowhere is the site of a frame that has not called anything.
var nowhere = &site{}

// A frame is a call in progress.
type frame struct {
	st       *State
	locals   []value.Value
	boxes    []*box // of captured locals, by slot
	upvalues []*box
	closure  *closure // nil: calls by a function of Go
	varargs  []value.Value
	site     *site
	tails    int // tail calls that this frame replaced
	base     int // of the stack
	boxBase  int

	// The result of a function, by its signal.
	value  value.Value
	values []value.Value
	tail   *closure
}

// A signal is how a statement ended.
type signal uint8

const (
	proceed    signal = iota
	leaveLoop         // break
	returnOne         // frame.value
	returnMany        // frame.values
	returnTail        // call frame.tail with frame.values, and return its results
)

// The compiled forms of the tree.
type (
	statement func(f *frame) signal
	expr      func(f *frame) value.Value
	multi     func(f *frame) []value.Value // any number of values, valid until the next push
	cond      func(f *frame) bool
)
