package lua

import "limitsrv/commands/scripts/lua/value"

// enter starts a frame on top of the stack of frames.
func (st *State) enter() *frame {
	if st.depth == len(st.frames) {
		st.frames = append(st.frames, &frame{st: st})
	}
	f := st.frames[st.depth]
	st.depth++
	return f
}

// enterGo begins a frame for calls by a function of Go.
func (st *State) enterGo() {
	f := st.enter()
	f.closure, f.site, f.tails = nil, nowhere, 0
}

// enterClosure begins the frame of a function. locals has its slots.
func (st *State) enterClosure(c *closure, locals []value.Value, base int) *frame {
	p := c.proto
	if st.depth >= maxCalls || st.nesting > maxNesting || st.limits.Calls > 0 && st.depth > st.limits.Calls {
		st.overflow()
	}
	f := st.enter()
	f.locals, f.upvalues, f.closure, f.site, f.tails, f.base = locals, c.upvalues, c, nowhere, 0, base
	if st.nesting += p.nesting; st.nesting > st.deepest {
		st.deepen()
	}
	if p.boxes {
		f.enterBoxes(p)
	}
	return f
}

// stepsPerLevel is the number of steps that a run pays for each level of nesting that it reaches
// for the first time. Each new level makes the stacks of the State grow. It also makes Go's stack
// grow, and Go copies that stack.
const stepsPerLevel = 2

// deepen counts the levels of nesting that the run reaches for the first time.
func (st *State) deepen() {
	levels := st.nesting - st.deepest
	st.deepest = st.nesting
	st.Charge(levels * stepsPerLevel)
}

// enterBoxes makes the boxes of captured parameters.
func (f *frame) enterBoxes(p *proto) {
	f.boxBase = f.st.boxTop
	f.boxes = f.st.pushBoxes(p.slots)
	for _, slot := range p.captured {
		f.boxes[slot] = f.st.newBox(f.locals[slot])
	}
}

// leave ends the frame f. Requires: f is the top frame.
func (st *State) leave(f *frame) {
	p := f.closure.proto
	if p.boxes {
		st.boxTop = f.boxBase
	}
	st.nesting -= p.nesting
	st.depth--
	st.top = f.base
}

// run runs the body of f, and the functions that it calls last, and ends f. It returns
// all results.
func (st *State) run(f *frame) []value.Value {
	for {
		sig := f.closure.proto.body(f)
		switch sig {
		case returnOne:
			v := f.value
			st.leave(f)
			st.single[0] = v
			return st.single[:]
		case returnMany:
			values := f.values
			st.leave(f)
			return values
		case returnTail:
			f = st.replace(f)
		default:
			st.leave(f)
			return nil
		}
	}
}

// run1 is as run, for the first result.
func (st *State) run1(f *frame) value.Value {
	switch f.closure.proto.body(f) {
	case returnOne:
		st.leave(f)
		return f.value
	case returnMany:
		values := f.values
		st.leave(f)
		return first(values)
	case returnTail:
		return first(st.run(st.replace(f)))
	}
	st.leave(f)
	return value.Nil
}

// replace ends f, and begins the frame of the function that it calls last.
func (st *State) replace(f *frame) *frame {
	tails, callee, args := f.tails+1, f.tail, f.values
	st.leave(f)
	next := st.begin(callee, args)
	next.tails = tails
	return next
}

// begin begins a call of a function with arguments, which may be anywhere on the stack.
func (st *State) begin(c *closure, args []value.Value) *frame {
	base := st.top
	p := c.proto
	var varargs []value.Value
	if p.vararg && len(args) > 0 {
		args, varargs = st.splitVarargs(p, args)
	}
	locals := st.push(p.slots)
	n := copy(locals[:p.params], args)
	clear(locals[n:p.params])
	f := st.enterClosure(c, locals, base)
	f.varargs = varargs
	if p.arg >= 0 {
		f.setArg(p)
	}
	return f
}

// splitVarargs copies the arguments to the top of the stack.
func (st *State) splitVarargs(p *proto, args []value.Value) (fixed, varargs []value.Value) {
	st.Prepay(len(args) / valuesPerStep)
	kept := st.push(len(args))
	copy(kept, args)
	n := min(p.params, len(kept))
	return kept[:n], kept[n:]
}

// setArg sets the variable "arg" of a vararg function that does not use ... .
func (f *frame) setArg(p *proto) {
	v := value.Nil
	if p.needsArg {
		h := f.st.Heap
		t := h.NewTable(len(f.varargs), 1)
		for i, extra := range f.varargs {
			t.SetInt(h, i+1, extra)
		}
		t.Set(h, value.OfString(nameN), value.Number(float64(len(f.varargs))))
		v = value.OfTable(t)
	}
	if p.argCaptured {
		f.boxes[p.arg].v = v
	} else {
		f.locals[p.arg] = v
	}
}

var nameN = value.NewString("n")

// callAny calls any value from Lua. args are on the stack.
func (st *State) callAny(fn value.Value, args []value.Value, at *site) []value.Value {
	switch ref := fn.Ref().(type) {
	case *closure:
		return st.run(st.begin(ref, args))
	case *Function:
		return ref.call(st, args)
	}
	return st.callMeta(fn, args, at)
}

// callMeta calls a value by its metamethod.
func (st *State) callMeta(fn value.Value, args []value.Value, at *site) []value.Value {
	handler := st.metamethod(fn, eventCall)
	switch handler.Ref().(type) {
	case *closure, *Function:
	default:
		st.typeError("call", fn, at)
	}
	base := st.top
	st.Prepay(len(args) / valuesPerStep)
	all := st.push(len(args) + 1)
	copy(all[1:], args)
	all[0] = fn
	results := st.callAny(handler, all, at)
	st.top = base
	return results
}

// Call calls a function from Go. The results are valid until the next call.
func (st *State) Call(fn value.Value, args []value.Value) []value.Value {
	base := st.top
	st.enterC(nowhere)
	kept := st.push(len(args))
	copy(kept, args)
	st.enterGo()
	results := st.callAny(fn, kept, nowhere)
	st.depth--
	st.goDepth--
	st.top = base
	return results
}

// Call1 calls a function of an argument from Go, and returns its first result.
func (st *State) Call1(fn, a value.Value) value.Value {
	args := [1]value.Value{a}
	return first(st.Call(fn, args[:]))
}

// Call2 calls a function of two arguments from Go, and returns its first result.
func (st *State) Call2(fn, a, b value.Value) value.Value {
	args := [2]value.Value{a, b}
	return first(st.Call(fn, args[:]))
}

// callHandler calls a metamethod for an operation of the top frame, and returns its first
// result.
func (st *State) callHandler(handler value.Value, at *site, args ...value.Value) value.Value {
	base := st.top
	st.enterC(at)
	kept := st.push(len(args))
	copy(kept, args)
	st.setSite(at)
	result := first(st.callAny(handler, kept, at))
	st.goDepth--
	st.top = base
	return result
}

// A mark is a point of the stacks that a caught error returns to.
type mark struct{ top, boxTop, depth, goDepth, nesting int }

func (st *State) mark() mark { return mark{st.top, st.boxTop, st.depth, st.goDepth, st.nesting} }

func (st *State) returnTo(m mark) {
	st.top, st.boxTop, st.depth, st.goDepth, st.nesting = m.top, m.boxTop, m.depth, m.goDepth, m.nesting
}

// Protect calls a function from Go, and catches errors, but not passed limits. The results
// and the failure are valid until the next call.
func (st *State) Protect(fn value.Value, args []value.Value) ([]value.Value, *Failure) {
	m := st.mark()
	st.Prepay(len(args) / valuesPerStep)
	kept := st.push(len(args))
	copy(kept, args)
	st.enterGo()
	results, failure := st.protect(fn, kept)
	st.returnTo(m)
	switch {
	case failure == nil:
	case failure.limit != NoLimit:
		panic(failure)
	default:
		st.Charge(stepsPerCatch)
	}
	return results, failure
}

// stepsPerCatch is the number of steps that count for a caught error: its message, and the
// end of the calls within.
const stepsPerCatch = 50

// protect calls a function and recovers from its failure.
func (st *State) protect(fn value.Value, args []value.Value) (results []value.Value, failure *Failure) {
	defer func() {
		if failure = st.failureOf(recover()); failure != nil {
			results = nil
		}
	}()
	st.enterC(nowhere)
	results = st.callAny(fn, args, nowhere)
	st.goDepth--
	return results, nil
}

// failureOf returns the failure of a panic, nil for none. It panics again with anything else.
func (st *State) failureOf(caught any) *Failure {
	switch caught := caught.(type) {
	case nil:
		return nil
	case *Failure:
		return caught
	case value.OutOfMemory:
		return st.passed(MemoryLimit)
	case value.OutOfSteps:
		return st.passed(StepLimit)
	}
	panic(caught)
}
