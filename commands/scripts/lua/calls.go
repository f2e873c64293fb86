package lua

import (
	"limitsrv/commands/scripts/lua/syntax"
	"limitsrv/commands/scripts/lua/value"
)

// A call is a compiled call of a function or method.
type call struct {
	callee expr // or the object of a method
	method value.Value
	object *site // of the index by method
	fixed  *Function
	args   list
	at     *site
}

func (c *compiler) call(e *syntax.CallExpr) *call {
	c.enter()
	defer c.leave()
	k := &call{at: c.site(e.Callee, e.Line)}
	k.fixed = c.fixed(e)
	if e.Method != "" {
		k.at = c.shared(site{e.Line, "method", e.Method})
		k.object = c.site(e.Callee, e.Line)
		k.method = value.OfString(value.NewString(e.Method))
	}
	k.callee = c.expr(e.Callee)
	k.args = c.list(e.Args)
	return k
}

// fixed returns the function of Go that a call calls, if it is known, or nil.
func (c *compiler) fixed(e *syntax.CallExpr) *Function {
	if e.Method != "" {
		return nil
	}
	var v value.Value
	switch callee := e.Callee.(type) {
	case *syntax.GlobalExpr:
		v, _ = c.globalConstant(callee.Name)
	case *syntax.IndexExpr:
		v, _ = c.fieldConstant(callee)
	}
	g, ok := v.Ref().(*Function)
	if !ok {
		return nil
	}
	if g.Bind == nil || len(e.Args) == 0 {
		return g
	}
	if s, ok := e.Args[0].(*syntax.String); ok {
		if bound := g.Bind(value.NewString(s.Value)); bound != nil {
			return bound
		}
	}
	return g
}

// simple reports whether the number of arguments is known.
func (k *call) simple() bool { return k.args.last == nil && k.object == nil }

// one compiles a call for its first result.
func (k *call) one() expr {
	switch {
	case k.fixed != nil && k.simple() && k.fixed.One != nil:
		return k.fixedOne()
	case k.simple():
		return k.dynamicOne()
	}
	return func(f *frame) value.Value {
		st := f.st
		base := st.top
		fn, args := k.prepare(f)
		f.step(1)
		f.site = k.at
		var v value.Value
		if g, ok := fn.Ref().(*Function); ok {
			v = g.call1(st, args)
		} else {
			v = first(st.callAny(fn, args, k.at))
		}
		st.top = base
		return v
	}
}

// fixedOne calls a known function of Go that has a result. The end of the three forms is
// not a function, because Go would not inline it.
func (k *call) fixedOne() expr {
	one, args, at := k.fixed.One, k.args.exprs, k.at
	n := len(args)
	switch n {
	case 1:
		only := args[0]
		if k.fixed.Unary != nil {
			return fixedUnary(k.fixed, only, at)
		}
		return func(f *frame) value.Value {
			st := f.st
			base := st.top
			values := st.push(1)
			values[0] = only(f)
			f.step(1)
			f.site = at
			v := one(st, values)
			st.top = base
			return v
		}
	case 2:
		first, second := args[0], args[1]
		return func(f *frame) value.Value {
			st := f.st
			base := st.top
			values := st.push(2)
			values[0] = first(f)
			values[1] = second(f)
			f.step(1)
			f.site = at
			v := one(st, values)
			st.top = base
			return v
		}
	}
	return func(f *frame) value.Value {
		st := f.st
		base := st.top
		values := st.push(n)
		for i, arg := range args {
			values[i] = arg(f)
		}
		f.step(1)
		f.site = at
		v := one(st, values)
		st.top = base
		return v
	}
}

// fixedUnary calls a known function of Go with an argument.
func fixedUnary(g *Function, arg expr, at *site) expr {
	unary, one := g.Unary, g.One
	return func(f *frame) value.Value {
		st := f.st
		base := st.top
		st.reserve(1) // as for other functions, so that stacks grow at the same points
		a := arg(f)
		f.step(1)
		f.site = at
		v, ok := unary(st, a)
		if !ok {
			slot := st.stack[base : base+1 : base+1]
			slot[0] = a
			v = one(st, slot)
		}
		st.top = base
		return v
	}
}

// dynamicOne calls whichever function the callee is.
func (k *call) dynamicOne() expr {
	callee, args, at := k.callee, k.args.exprs, k.at
	return func(f *frame) value.Value {
		st := f.st
		fn := callee(f)
		base := st.top
		if c, ok := fn.Ref().(*closure); ok && !c.proto.vararg {
			return st.run1(f.beginSimple(c, args, at))
		}
		values := st.push(len(args))
		for i, arg := range args {
			values[i] = arg(f)
		}
		f.step(1)
		f.site = at
		v := first(st.callAny(fn, values, at))
		st.top = base
		return v
	}
}

// beginSimple evaluates arguments in the slots of the function that is called.
func (f *frame) beginSimple(c *closure, args []expr, at *site) *frame {
	st := f.st
	base := st.top
	p := c.proto
	locals := st.push(p.slots)
	for i, arg := range args {
		v := arg(f)
		if i < p.params {
			locals[i] = v
		}
	}
	if len(args) < p.params {
		clear(locals[len(args):p.params])
	}
	f.step(1)
	f.site = at
	inner := st.enterClosure(c, locals, base)
	inner.varargs = nil
	return inner
}

// prepare evaluates callee and arguments, and pushes the arguments.
func (k *call) prepare(f *frame) (fn value.Value, args []value.Value) {
	fn = k.callee(f)
	if k.object == nil {
		return fn, k.args.all(f)
	}
	st := f.st
	self := fn
	fn = st.index(self, k.method, k.object)
	args = st.push(1 + len(k.args.exprs))
	args[0] = self
	for i, arg := range k.args.exprs {
		args[1+i] = arg(f)
	}
	if k.args.last != nil {
		more := k.args.last(f)
		args = st.extend(args, more)
	}
	return fn, args
}

// all compiles a call for all of its results.
func (k *call) all() multi {
	return func(f *frame) []value.Value {
		st := f.st
		base := st.top
		fn, args := k.prepare(f)
		f.step(1)
		f.site = k.at
		var results []value.Value
		if k.fixed != nil {
			results = k.fixed.call(st, args)
		} else {
			results = st.callAny(fn, args, k.at)
		}
		st.top = base
		return results
	}
}

// effect compiles a call without results.
func (k *call) effect() func(f *frame) {
	if k.simple() {
		one := k.one()
		return func(f *frame) { one(f) }
	}
	all := k.all()
	return func(f *frame) { all(f) }
}

// tail compiles a call in a return statement.
func (k *call) tail() statement {
	if k.fixed != nil && k.simple() && k.fixed.One != nil {
		one := k.fixedOne()
		return func(f *frame) signal {
			f.value = one(f)
			return returnOne
		}
	}
	return func(f *frame) signal {
		st := f.st
		fn, args := k.prepare(f)
		f.step(1)
		f.site = k.at
		if c, ok := fn.Ref().(*closure); ok {
			f.tail, f.values = c, args
			return returnTail
		}
		if k.fixed != nil {
			f.values = k.fixed.call(st, args)
		} else {
			f.values = st.callAny(fn, args, k.at)
		}
		return returnMany
	}
}
