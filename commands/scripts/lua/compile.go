package lua

import (
	"bytes"
	"math"
	"strings"

	"limitsrv/commands/scripts/lua/syntax"
	"limitsrv/commands/scripts/lua/value"
)

// Compile parses and compiles a script for states of env, which is frozen by this. name
// begins with @ or = if it is to be shown as it is. Errors are of type *syntax.Error.
// Cost: linear in the length of source.
func Compile(env *Env, source []byte, name string) (*Chunk, error) {
	chunk, _, err := CompileWithin(env, env, source, name)
	return chunk, err
}

// CompileWithin is Compile, except that code outside of functions sees the global variables of
// another environment, outer. Requires: outer has no variables that runs set. It also returns the
// tree; the chunk does not refer to it.
func CompileWithin(outer, env *Env, source []byte, name string) (*Chunk, *syntax.Function, error) {
	outer.Freeze()
	env.Freeze()
	return compile(outer, env, source, []byte(name), 0)
}

// compile is as CompileWithin, with calls in progress.
func compile(outer, env *Env, source, name []byte, calls int) (*Chunk, *syntax.Function, error) {
	chunk := chunkName(name)
	tree, err := syntax.Parse(source, chunk, calls)
	if err != nil {
		return nil, nil, err
	}
	c := &compiler{within: outer, below: env, source: string(name[:min(len(name), maxName+1)])}
	main, err := c.main(tree)
	if err != nil {
		return nil, nil, err
	}
	native := main
	if tree.NativeDiffers || c.newer {
		c.native = true
		other, err := syntax.ParseNative(source, chunk, calls)
		if err == nil {
			native, err = c.main(other)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return &Chunk{main, native, len(source) + c.total*bytesPerNode}, tree, nil
}

// bytesPerNode is the estimated memory of a compiled node of the tree, in bytes. Measured: 20 to
// 60.
const bytesPerNode = 60

// maxDepth bounds the depth of the tree: long chains such as a.b.b.b make it deep, and
// each level takes some of Go's stack when it is compiled and when it runs.
const maxDepth = 200_000

// tooDeep is the panic of a tree beyond maxDepth.
type tooDeep struct{}

// main compiles the main function.
func (c *compiler) main(fn *syntax.Function) (p *proto, err error) {
	defer func() {
		if failure := recover(); failure == (tooDeep{}) {
			err = &syntax.Error{Chunk: fn.Chunk, Line: 1, Message: "chunk has too many syntax levels"}
		} else if failure != nil {
			panic(failure)
		}
	}()
	return c.function(fn), nil
}

// Load compiles a script during a run, and returns its main function. It counts against
// the limits. A byte 0 ends name. Errors are of type *syntax.Error.
func (st *State) Load(source, name []byte) (value.Value, error) {
	st.Prepay(stepsPerLoad + len(name)/bytesPerAppend)
	if i := bytes.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	st.Charge(stepsPerSource * len(source))
	st.heap.Charge(sourceCost * len(source))
	chunk, _, err := compile(st.env, st.env, source, name, st.goDepth)
	if err != nil {
		return value.Nil, err
	}
	return value.OfFunc(st.newClosure(chunk.of(st.limits.Native), 0)), nil
}

// sourceCost is the memory that is counted for a byte of source; measured: 20 to 150 bytes are
// allocated. stepsPerSource is the number of steps for a byte, besides the steps for memory.
// stepsPerLoad is the number of steps for any source.
const (
	sourceCost     = 160
	stepsPerSource = 1
	stepsPerLoad   = 50
)

// Lengths of the names of chunks in errors.
const (
	maxName   = 79
	maxPath   = 72
	maxQuoted = maxName - len(` [string "..."] `)
)

// chunkName returns the form of a chunk's name in errors. A name without a mark is the source
// itself. The result does not keep the memory of a long name.
func chunkName(full []byte) string {
	switch {
	case bytes.HasPrefix(full, []byte("=")):
		return string(full[1:min(len(full), maxName+1)])
	case bytes.HasPrefix(full, []byte("@")):
		if full = full[1:]; len(full) > maxPath {
			return "..." + string(full[len(full)-maxPath:])
		}
		return string(full)
	}
	name := string(full[:min(len(full), maxName)])
	line := name[:strings.IndexAny(name+"\n", "\n\r")]
	if len(line) > maxQuoted {
		line = line[:maxQuoted]
	}
	if line == name {
		return `[string "` + line + `"]`
	}
	return `[string "` + line + `..."]`
}

// A compiler makes closures of the tree of a function.
type compiler struct {
	env    *Env
	within *Env // of the functions directly inside
	below  *Env // of all functions inside of these
	source string
	zero   *float64 // the first constant zero: Lua keeps a single zero, of whichever sign
	nodes  int      // compiled so far
	total  int      // nodes, including the functions inside
	sites  map[site]*site
	depth  int // of the node being compiled
	most   int
	native bool // for Native runs
	newer  bool // the code uses a variable of Env.SetNewer
}

// function compiles a function with a compiler of its own.
func (c *compiler) function(fn *syntax.Function) *proto {
	inner := &compiler{env: c.within, within: c.below, below: c.below, source: c.source, depth: c.depth, most: c.depth,
		native: c.native}
	p := &proto{source: c.source, chunk: fn.Chunk, params: len(fn.Params), slots: fn.Slots, vararg: fn.Vararg, arg: -1}
	for _, param := range fn.Params {
		if param.Captured {
			p.captured = append(p.captured, param.Slot)
		}
	}
	if fn.Arg != nil {
		p.arg, p.needsArg = fn.Arg.Slot, !fn.UsesVararg
		if p.argCaptured = fn.Arg.Captured; p.argCaptured {
			p.captured = append(p.captured, fn.Arg.Slot)
		}
	}
	p.boxes = fn.Captures
	p.body = inner.block(fn.Body)
	p.nesting = inner.most - c.depth
	c.total += inner.nodes + inner.total
	c.newer = c.newer || inner.newer
	return p
}

// enter counts a nested node, and leave ends it.
func (c *compiler) enter() {
	c.nodes++
	if c.depth++; c.depth > maxDepth {
		panic(tooDeep{})
	}
	c.most = max(c.most, c.depth)
}

func (c *compiler) leave() { c.depth-- }

// constant returns the value of a constant expression.
func (c *compiler) constant(e syntax.Expr) (value.Value, bool) {
	switch e := e.(type) {
	case *syntax.Nil:
		return value.Nil, true
	case *syntax.Bool:
		return value.Bool(e.Value), true
	case *syntax.Number:
		return value.Number(c.sharedZero(e.Value)), true
	case *syntax.String:
		return value.OfString(value.NewString(e.Value)), true
	case *syntax.GlobalExpr:
		return c.globalConstant(e.Name)
	case *syntax.IndexExpr:
		return c.fieldConstant(e)
	}
	return value.Nil, false
}

// sharedZero returns x, or the zero that the function has already as a constant.
func (c *compiler) sharedZero(x float64) float64 {
	if x != 0 {
		return x
	}
	if c.zero == nil {
		c.zero = &x
	}
	return math.Copysign(0, *c.zero)
}

// globalConstant returns the value of a global variable that is the same in all runs.
func (c *compiler) globalConstant(name string) (value.Value, bool) {
	if _, ok := c.env.variable(name); ok {
		return value.Nil, false
	}
	v := c.fixedGlobal(name)
	if t, ok := v.Table(); ok && t == c.env.globals {
		return value.Nil, false
	}
	return v, !v.IsNil()
}

// fixedGlobal returns the value of a global variable of the environment, or nil.
func (c *compiler) fixedGlobal(name string) value.Value {
	if v := c.env.newerGlobal(name); !v.IsNil() {
		c.newer = true
		if c.native {
			return value.Nil
		}
	}
	return c.env.Global(name)
}

// fieldConstant returns a field of a constant table, such as string.format.
func (c *compiler) fieldConstant(e *syntax.IndexExpr) (value.Value, bool) {
	key, ok := e.Key.(*syntax.String)
	if !ok {
		return value.Nil, false
	}
	global, ok := e.Object.(*syntax.GlobalExpr)
	if !ok {
		return value.Nil, false
	}
	object, ok := c.globalConstant(global.Name)
	if !ok {
		return value.Nil, false
	}
	t, ok := object.Table()
	if !ok {
		return value.Nil, false
	}
	v := t.GetString(value.NewString(key.Value))
	return v, !v.IsNil()
}

// site returns the site of an operation on the value of e.
func (c *compiler) site(e syntax.Expr, line int) *site {
	kind, name := syntax.Describe(e)
	if i := strings.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	return c.shared(site{line, kind, name})
}

// shared returns a site that equals at; equal sites of a function share a site.
func (c *compiler) shared(at site) *site {
	if known := c.sites[at]; known != nil {
		return known
	}
	if c.sites == nil {
		c.sites = make(map[site]*site)
	}
	c.sites[at] = &at
	return &at
}

// nodesPerStep is the number of nodes of the tree that count as an extra step.
const nodesPerStep = 8

// cost returns the steps of a statement or condition, from the number of nodes compiled
// before it: one step, and more for a large statement.
func (c *compiler) cost(before int) int64 { return 1 + int64((c.nodes-before)/nodesPerStep) }

// block compiles statements.
func (c *compiler) block(b *syntax.Block) statement {
	c.enter()
	defer c.leave()
	list := make([]statement, 0, len(b.Statements))
	n := int64(0)
	for _, s := range b.Statements {
		before := c.nodes
		list = append(list, c.statement(s))
		n += c.cost(before)
	}
	switch len(list) {
	case 0:
		return func(*frame) signal { return proceed }
	case 1:
		only := list[0]
		return func(f *frame) signal {
			f.step(n)
			return only(f)
		}
	case 2:
		first, second := list[0], list[1]
		return func(f *frame) signal {
			f.step(n)
			if sig := first(f); sig != proceed {
				return sig
			}
			return second(f)
		}
	}
	return func(f *frame) signal {
		f.step(n)
		for _, s := range list {
			if sig := s(f); sig != proceed {
				return sig
			}
		}
		return proceed
	}
}

// step counts n steps.
func (f *frame) step(n int64) {
	if f.st.heap.Steps -= n; f.st.heap.Steps < 0 {
		f.st.exceed(StepLimit)
	}
}
