package lua

import (
	"limitsrv/commands/scripts/lua/syntax"
	"limitsrv/commands/scripts/lua/value"
)

func (c *compiler) assign(s *syntax.Assign) statement {
	if len(s.Targets) == 1 && len(s.Values) == 1 {
		return c.assignOne(s.Targets[0], s.Values[0], s.Line)
	}
	return c.assignMany(s)
}

func (c *compiler) assignOne(target, source syntax.Expr, line int) statement {
	if index, ok := target.(*syntax.IndexExpr); ok {
		return c.assignIndex(index, source, line)
	}
	v := c.expr(source)
	if target, ok := target.(*syntax.LocalExpr); ok {
		slot := target.Local.Slot
		if !target.Local.Captured {
			return func(f *frame) signal {
				f.locals[slot] = v(f)
				return proceed
			}
		}
	}
	store := c.store(target, line)
	return func(f *frame) signal {
		store(f, v(f))
		return proceed
	}
}

// store compiles the assignment of a value to a variable.
func (c *compiler) store(target syntax.Expr, line int) func(f *frame, v value.Value) {
	switch target := target.(type) {
	case *syntax.LocalExpr:
		slot := target.Local.Slot
		if target.Local.Captured {
			return func(f *frame, v value.Value) { f.boxes[slot].v = v }
		}
		return func(f *frame, v value.Value) { f.locals[slot] = v }
	case *syntax.UpvalueExpr:
		i := target.Index
		return func(f *frame, v value.Value) { f.upvalues[i].v = v }
	}
	at := c.shared(site{line: line})
	return func(f *frame, v value.Value) { f.st.errorAt(at, "%s", f.st.env.texts.ReadOnly) }
}

// isLocal reports whether e is a variable of the function itself, which Lua reads late:
// when its value is used.
func isLocal(e syntax.Expr) bool {
	_, ok := e.(*syntax.LocalExpr)
	return ok
}

// assignIndex compiles an assignment to a field.
func (c *compiler) assignIndex(target *syntax.IndexExpr, source syntax.Expr, line int) statement {
	object, key, v := c.expr(target.Object), c.expr(target.Key), c.expr(source)
	at := c.site(target.Object, line)
	_, constantKey := target.Key.(*syntax.String)
	switch {
	case isLocal(target.Object) && (constantKey || isLocal(target.Key)):
		return func(f *frame) signal {
			v := v(f)
			f.setIndex(object(f), key(f), v, at)
			return proceed
		}
	case isLocal(target.Object):
		return func(f *frame) signal {
			k := key(f)
			v := v(f)
			f.setIndex(object(f), k, v, at)
			return proceed
		}
	case isLocal(target.Key):
		return func(f *frame) signal {
			o := object(f)
			v := v(f)
			f.setIndex(o, key(f), v, at)
			return proceed
		}
	}
	return func(f *frame) signal {
		o, k := object(f), key(f)
		f.setIndex(o, k, v(f), at)
		return proceed
	}
}

// setIndex sets object[key], with a short path for tables without a metatable.
func (f *frame) setIndex(object, key, v value.Value, at *site) {
	if t, ok := object.Table(); ok && t.Meta() == nil && !t.Frozen() {
		if _, ok := key.String(); ok {
			f.st.chargeKey(key)
			t.Set(f.st.Heap, key, v)
			return
		}
		if key.IsNumber() {
			if x := key.Float(); x == float64(int32(x)) {
				t.SetInt(f.st.Heap, int(x), v)
				return
			}
		}
	}
	f.st.setIndex(object, key, v, at)
}

// assignMany compiles an assignment of several values or to several variables. Objects
// and keys come first, then the values; the last variable is set first.
func (c *compiler) assignMany(s *syntax.Assign) statement {
	operands := make([][2]expr, len(s.Targets)) // of indices
	stores := make([]func(*frame, value.Value), len(s.Targets))
	sites := make([]*site, len(s.Targets))
	for i, target := range s.Targets {
		index, ok := target.(*syntax.IndexExpr)
		if !ok {
			stores[i] = c.store(target, s.Line)
			continue
		}
		operands[i] = [2]expr{c.expr(index.Object), c.expr(index.Key)}
		sites[i] = c.site(index.Object, s.Line)
	}
	values := c.list(s.Values)
	n := len(s.Targets)
	return func(f *frame) signal {
		st := f.st
		base := st.top
		kept := st.push(2 * n)
		for i, o := range operands {
			if o[0] != nil {
				kept[2*i], kept[2*i+1] = o[0](f), o[1](f)
			}
		}
		results := values.exactly(f, n)
		for i := n - 1; i >= 0; i-- {
			if stores[i] != nil {
				stores[i](f, results[i])
			} else {
				f.setIndex(kept[2*i], kept[2*i+1], results[i], sites[i])
			}
		}
		st.top = base
		return proceed
	}
}
