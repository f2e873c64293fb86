package lua

import (
	"limitsrv/commands/scripts/lua/arena"
	"limitsrv/commands/scripts/lua/value"
)

// Limits bound a run. A script that passes a limit ends with an Error with its Limit; pcall
// does not catch it. All of them are counted in the same way on all machines.
type Limits struct {
	Steps  int64 // statements by their size, turns of loops, calls, and work of functions
	Memory int64 // bytes of all objects ever made
	String int   // bytes of a single string; 0: no limit besides Memory
	Calls  int   // nested calls; 0: Lua's own limit, which raises an error
	// Prepaid charges all work and memory of functions before it is spent. Otherwise some work is
	// free, as in the first version: replays of its logs must get the same results.
	Prepaid bool
	// Together counts the buffers of functions that wait for a call together against Memory. Otherwise
	// each buffer counts alone, as at earlier levels of calls.
	Together bool
	// Native computes powers and math functions with Go's package math, as the first version did.
	// The results then depend on the processor. Native runs do not have the variables of
	// Env.SetNewer.
	Native bool
}

// A LimitKind names a limit of Limits.
type LimitKind uint8

// The kinds.
const (
	NoLimit LimitKind = iota
	StepLimit
	MemoryLimit
	StringLimit
	CallLimit
)

// Lua's own limits on nested calls.
const (
	maxCalls   = 20000  // of Lua's functions
	maxGoCalls = 200    // through functions of Go and metamethods
	maxNesting = 400000 // sum of the nesting of the functions that are called
)

// Sizes that are counted for objects, in bytes.
const (
	closureSize = 64
	boxSize     = 24
	referSize   = 8
	slotSize    = 24
)

// A state keeps nothing of a run with more than keptMemory bytes, or keptObjects nested
// calls, and else keptObjects of each kind. smallStack is the length of the stack when a
// run begins.
const (
	keptMemory  = 1 << 20
	keptObjects = 4 << 10
	smallStack  = 1 << 10
)

// A State runs chunks, one at a time. Its memory is reused by each run. Concurrency: not
// safe for concurrent use.
type State struct {
	// Heap holds the values of the run.
	Heap *value.Heap
	// Embedder is for the use of registered functions.
	Embedder any

	heap      value.Heap
	env       *Env
	limits    Limits
	stack     []value.Value
	top       int
	boxStack  []*box
	boxTop    int
	frames    []*frame
	depth     int // frames in use
	goDepth   int
	nesting   int
	deepest   int // nesting of the run so far
	closures  arena.Arena[closure]
	boxes     arena.Arena[box]
	refs      arena.Arena[*box]
	globals   *value.Table // or nil until a script asks for it
	variables []variable
	failure   Failure
	single    [1]value.Value
	random    uint64
	seeder    Seeder // see SeedLate; nil: random is seeded
	runs      uint64
	data      [slots]any
	scratch   []byte
}

// NewState returns a state for chunks of env, which is frozen by this. The first run may
// begin after Reset.
func NewState(env *Env) *State {
	env.Freeze()
	st := &State{env: env, variables: make([]variable, len(env.variables)), stack: make([]value.Value, smallStack)}
	st.Heap = &st.heap
	return st
}

// Reset ends a run and its values, and starts the next run. All variables are nil and the
// random sequence is the sequence of seed 0.
func (st *State) Reset(limits Limits) {
	if st.heap.Used() > keptMemory || len(st.frames) > keptObjects {
		st.drop()
	}
	st.limits = limits
	st.heap.Reset(limits.Memory, limits.Steps)
	st.heap.Prepaid, st.heap.Together = limits.Prepaid, limits.Together
	st.closures.Reset(keptObjects)
	st.boxes.Reset(keptObjects)
	st.refs.Reset(keptObjects)
	st.top, st.boxTop, st.depth, st.goDepth, st.nesting, st.deepest = 0, 0, 0, 0, 0, 0
	st.stack, st.boxStack = st.stack[:smallStack], st.boxStack[:0] // so that each run grows them at the same points
	st.globals = nil
	st.runs++
	for i := range st.variables {
		st.variables[i].v, st.variables[i].lazy = value.Nil, false
	}
	st.Seed(0)
}

// drop releases all memory: after a large run, even a few objects that are kept could
// refer to much of it.
func (st *State) drop() {
	st.heap = value.Heap{}
	st.closures, st.boxes, st.refs = arena.Arena[closure]{}, arena.Arena[box]{}, arena.Arena[*box]{}
	st.stack, st.boxStack, st.frames, st.scratch = make([]value.Value, smallStack), nil, nil, nil
	st.failure, st.single[0] = Failure{}, value.Nil
	clear(st.variables)
}

// A variable is the value of a variable of a run. Until a script uses a list otherwise
// than for its elements, there is no table of it.
type variable struct {
	v    value.Value
	list value.List
	lazy bool // v is to be made of list
}

// Set sets a variable of the environment, by the index that Env.Variable returned.
func (st *State) Set(index int, v value.Value) { st.variables[index] = variable{v: v} }

// SetList sets a variable to the table of a list of the State's Heap.
func (st *State) SetList(index int, list value.List) {
	x := &st.variables[index]
	x.list, x.lazy = list, true
}

// variable returns the value of a variable.
func (st *State) variable(index int) value.Value {
	x := &st.variables[index]
	if x.lazy {
		x.v, x.lazy = value.OfTable(st.heap.TableOf(&x.list)), false
	}
	return x.v
}

// A Slot is a place for the data of a library in each state.
type Slot uint8

// The slots.
const (
	LibrarySlot Slot = iota
	JSONSlot
	slots
)

// Data returns the data in a slot. It outlives runs.
func (st *State) Data(slot Slot) *any { return &st.data[slot] }

// Runs returns the number of runs so far.
func (st *State) Runs() uint64 { return st.runs }

// StepsLeft returns the number of steps that the run may still take.
func (st *State) StepsLeft() int64 { return st.heap.Steps }

// Charge counts n steps for the work of a function. It does not return if they pass the
// limit.
func (st *State) Charge(n int) {
	if st.heap.Steps -= int64(n); st.heap.Steps < 0 {
		st.exceed(StepLimit)
	}
}

// Prepay charges n steps for work that a function is about to do, in a Prepaid run.
func (st *State) Prepay(n int) {
	if st.heap.Prepaid {
		st.Charge(n)
	}
}

// PrepayMemory charges n bytes, and steps for them, in a Prepaid run. It is for memory that a
// function is about to allocate outside of the values of the run.
func (st *State) PrepayMemory(n int) {
	if st.heap.Prepaid {
		st.heap.Charge(n)
	}
}

// Main returns the function that a chunk is, for RunFunction.
func (st *State) Main(chunk *Chunk) value.Value {
	main := st.closures.One()
	main.proto = chunk.of(st.limits.Native)
	return value.OfFunc(main)
}

// Run is RunFunction of a chunk, with arguments for its ....
func (st *State) Run(chunk *Chunk, args ...value.Value) (results []value.Value, err error) {
	return st.RunFunction(st.Main(chunk), args...)
}

// RunFunction calls the Main of a chunk, or a function that a chunk has made since the Reset, and
// returns its results, valid until the next run. err is of type *Error.
func (st *State) RunFunction(function value.Value, args ...value.Value) (results []value.Value, err error) {
	st.enterGo()
	defer func() {
		if failure := st.failureOf(recover()); failure != nil {
			results, err = nil, failure.publish(st)
		}
	}()
	st.enterC(nowhere)
	results = st.callAny(function, args, nowhere)
	st.goDepth--
	st.depth--
	return results, nil
}

// NewFunction makes a value of a function that is made during the run.
func (st *State) NewFunction(g *Function) value.Value {
	st.heap.Charge(closureSize)
	g.serial = st.heap.NextSerial()
	return value.OfFunc(g)
}

// Buffer returns an empty buffer, to be given back by Release with its contents. A buffer
// that is taken while another is in use is a new buffer.
func (st *State) Buffer() []byte {
	b := st.scratch
	st.scratch = nil
	return b[:0]
}

// Release gives a buffer back.
func (st *State) Release(b []byte) { st.scratch = b }

// bytesPerAppend is the number of bytes of Append that count as a step.
const bytesPerAppend = 64

// Append appends more to buffer. In a Prepaid run it charges steps for the copy, and ends the run
// if the buffer would be longer than the memory that the run has left.
func (st *State) Append(buffer, more []byte) []byte {
	st.Prepay(len(more) / bytesPerAppend)
	st.PrepayRoom(len(buffer) + len(more))
	return append(buffer, more...)
}

// PrepayRoom is CheckRoom in a Prepaid run.
func (st *State) PrepayRoom(n int) {
	if st.heap.Prepaid {
		st.CheckRoom(n)
	}
}

// CheckRoom ends the run if it has less than n bytes of memory left for a buffer.
func (st *State) CheckRoom(n int) { st.heap.CheckRoom(n) }

// NewString makes a string of a copy of b. Strings count by length against the limits.
func (st *State) NewString(b []byte) value.Value {
	st.CheckLength(len(b))
	return value.OfString(st.heap.Copy(b))
}

// NewText makes a string of a copy of text.
func (st *State) NewText(text string) value.Value {
	st.CheckLength(len(text))
	return value.OfString(st.heap.CopyString(text))
}

// CheckLength must be called before a string of n bytes is made.
func (st *State) CheckLength(n int) {
	if st.limits.String > 0 && n > st.limits.String {
		st.exceed(StringLimit)
	}
}
