package lua

import (
	"limitsrv/commands/scripts/lua/syntax"
	"limitsrv/commands/scripts/lua/value"
)

func (c *compiler) expr(e syntax.Expr) expr {
	c.enter()
	defer c.leave()
	if v, ok := c.constant(e); ok {
		return func(*frame) value.Value { return v }
	}
	switch e := e.(type) {
	case *syntax.LocalExpr:
		return local(e.Local)
	case *syntax.UpvalueExpr:
		i := e.Index
		return func(f *frame) value.Value { return f.upvalues[i].v }
	case *syntax.GlobalExpr:
		return c.global(e)
	case *syntax.IndexExpr:
		return c.index(e)
	case *syntax.CallExpr:
		return c.call(e).one()
	case *syntax.Vararg:
		return func(f *frame) value.Value { return first(f.varargs) }
	case *syntax.FunctionExpr:
		return c.functionExpr(e.Function)
	case *syntax.Binary:
		if isArithmetic(e.Op) {
			return c.arithmetic(e)
		}
		test := c.compare(e)
		return func(f *frame) value.Value { return value.Bool(test(f)) }
	case *syntax.Concat:
		return c.concat(e)
	case *syntax.Logic:
		return c.logic(e)
	case *syntax.Unary:
		return c.unary(e)
	case *syntax.Paren:
		return c.expr(e.Inner)
	case *syntax.TableExpr:
		return c.table(e)
	}
	panic("lua: unknown expression")
}

func local(l *syntax.Local) expr {
	slot := l.Slot
	if l.Captured {
		return func(f *frame) value.Value { return f.boxes[slot].v }
	}
	return func(f *frame) value.Value { return f.locals[slot] }
}

// global compiles a global variable that is not a constant.
func (c *compiler) global(e *syntax.GlobalExpr) expr {
	if i, ok := c.env.variable(e.Name); ok {
		return func(f *frame) value.Value { return f.st.variable(i) }
	}
	if !c.fixedGlobal(e.Name).IsNil() {
		return func(f *frame) value.Value { return value.OfTable(f.st.globalTable()) } // _G
	}
	if c.env.texts.MissingGlobal == "" {
		return func(*frame) value.Value { return value.Nil }
	}
	at, name := c.shared(site{line: e.Line}), cString([]byte(e.Name))
	return func(f *frame) value.Value {
		f.st.errorAt(at, f.st.env.texts.MissingGlobal, name)
		return value.Nil
	}
}

// index compiles object[key].
func (c *compiler) index(e *syntax.IndexExpr) expr {
	object := c.expr(e.Object)
	at := c.site(e.Object, e.Line)
	if s, ok := e.Key.(*syntax.String); ok && len(s.Value) <= longString {
		return indexString(object, value.NewString(s.Value), at)
	}
	if n, ok := e.Key.(*syntax.Number); ok && n.Value == float64(int32(n.Value)) {
		any := indexInt(object, int(n.Value), at)
		if element := c.element(e, int(n.Value), any); element != nil {
			return element
		}
		return any
	}
	key := c.expr(e.Key)
	if i, ok := c.variable(e.Object); ok {
		return elementAt(i, key, at)
	}
	late := isCaptured(e.Object)
	return func(f *frame) value.Value {
		var o, k value.Value
		if late {
			k = key(f)
			o = object(f)
		} else {
			o = object(f)
			k = key(f)
		}
		if t, ok := o.Table(); ok && k.IsNumber() {
			if v := t.Get(k); !v.IsNil() {
				return v
			}
		}
		return f.st.index(o, k, at)
	}
}

// isCaptured reports whether a function inside may change a local while a later operand
// is evaluated. Lua reads such an operand last.
func isCaptured(e syntax.Expr) bool {
	l, ok := e.(*syntax.LocalExpr)
	return ok && l.Local.Captured
}

func indexString(object expr, name *value.String, at *site) expr {
	return func(f *frame) value.Value {
		o := object(f)
		if t, ok := o.Table(); ok {
			if v := t.GetString(name); !v.IsNil() || t.Meta() == nil {
				return v
			}
		}
		return f.st.index(o, value.OfString(name), at)
	}
}

func indexInt(object expr, i int, at *site) expr {
	return func(f *frame) value.Value {
		o := object(f)
		if t, ok := o.Table(); ok {
			if v := t.GetInt(i); !v.IsNil() || t.Meta() == nil {
				return v
			}
		}
		return f.st.index(o, value.Number(float64(i)), at)
	}
}

// element compiles variable[i] for a variable that may be a list; rest is the same for any
// value. It returns nil for other expressions.
func (c *compiler) element(e *syntax.IndexExpr, i int, rest expr) expr {
	index, ok := c.variable(e.Object)
	if !ok {
		return nil
	}
	return func(f *frame) value.Value {
		if x := &f.st.variables[index]; x.lazy {
			if s := x.list.Element(i); s != nil {
				return value.OfString(s)
			}
		}
		return rest(f)
	}
}

// elementAt compiles variable[key], as element does. The key is evaluated first, because the
// variable can not change.
func elementAt(index int, key expr, at *site) expr {
	return func(f *frame) value.Value {
		k := key(f)
		x := &f.st.variables[index]
		if x.lazy && k.IsNumber() && k.Float() == float64(int32(k.Float())) {
			if s := x.list.Element(int(k.Float())); s != nil {
				return value.OfString(s)
			}
		}
		return f.st.index(f.st.variable(index), k, at)
	}
}

// variable returns the index of an expression that is a variable of runs.
func (c *compiler) variable(e syntax.Expr) (index int, ok bool) {
	global, ok := e.(*syntax.GlobalExpr)
	if !ok {
		return 0, false
	}
	return c.env.variable(global.Name)
}

// functionExpr compiles the making of a function.
func (c *compiler) functionExpr(fn *syntax.Function) expr {
	p := c.function(fn)
	ups := fn.Upvalues
	return func(f *frame) value.Value {
		made := f.st.newClosure(p, len(ups))
		for i, up := range ups {
			if up.Local != nil {
				made.upvalues[i] = f.boxes[up.Local.Slot]
			} else {
				made.upvalues[i] = f.upvalues[up.Index]
			}
		}
		return value.OfFunc(made)
	}
}

func (c *compiler) logic(e *syntax.Logic) expr {
	left, right := c.expr(e.Left), c.expr(e.Right)
	if e.And {
		return func(f *frame) value.Value {
			if v := left(f); !v.Truth() {
				return v
			}
			return right(f)
		}
	}
	return func(f *frame) value.Value {
		if v := left(f); v.Truth() {
			return v
		}
		return right(f)
	}
}

func (c *compiler) unary(e *syntax.Unary) expr {
	if e.Op == syntax.Not {
		test := c.cond(e.Operand)
		return func(f *frame) value.Value { return value.Bool(!test(f)) }
	}
	operand, at := c.expr(e.Operand), c.site(e.Operand, e.Line)
	if e.Op == syntax.Length {
		index, isVariable := c.variable(e.Operand)
		return func(f *frame) value.Value {
			if isVariable && f.st.variables[index].lazy {
				return value.Number(float64(f.st.variables[index].list.Len()))
			}
			v := operand(f)
			if t, ok := v.Table(); ok {
				return value.Number(float64(t.Len()))
			}
			if s, ok := v.String(); ok {
				return value.Number(float64(s.Len()))
			}
			f.st.typeError("get length of", v, at)
			return value.Nil
		}
	}
	return func(f *frame) value.Value {
		v := operand(f)
		if x, ok := f.st.ToNumber(v); ok {
			return value.Number(-x)
		}
		if h := f.st.metamethod(v, eventUnm); !h.IsNil() {
			return f.st.callHandler(h, at, v, v)
		}
		f.st.typeError("perform arithmetic on", v, at)
		return value.Nil
	}
}
