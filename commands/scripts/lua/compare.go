package lua

import (
	"limitsrv/commands/scripts/lua/syntax"
	"limitsrv/commands/scripts/lua/value"
)

// cond compiles an expression whose truth alone counts.
func (c *compiler) cond(e syntax.Expr) cond {
	switch e := e.(type) {
	case *syntax.Number, *syntax.String: // no constant of the function
		return func(*frame) bool { return true }
	case *syntax.Binary:
		if !isArithmetic(e.Op) {
			return c.compare(e)
		}
	case *syntax.Unary:
		if e.Op == syntax.Not {
			inner := c.cond(e.Operand)
			return func(f *frame) bool { return !inner(f) }
		}
	case *syntax.Logic:
		left, right := c.cond(e.Left), c.cond(e.Right)
		if e.And {
			return func(f *frame) bool { return left(f) && right(f) }
		}
		return func(f *frame) bool { return left(f) || right(f) }
	}
	v := c.expr(e)
	return func(f *frame) bool { return v(f).Truth() }
}

// compare compiles a comparison.
func (c *compiler) compare(e *syntax.Binary) cond {
	left, right := c.expr(e.Left), c.expr(e.Right)
	at := c.shared(site{line: e.Line})
	if isCaptured(e.Left) {
		return func(f *frame) bool {
			b := right(f)
			return f.st.compare(e.Op, left(f), b, at)
		}
	}
	switch e.Op {
	case syntax.Equal:
		return c.equal(e, left, right, at)
	case syntax.NotEqual:
		equal := c.equal(e, left, right, at)
		return func(f *frame) bool { return !equal(f) }
	case syntax.Less:
		return func(f *frame) bool {
			a, b := both(f, left, right)
			if a.IsNumber() && b.IsNumber() {
				return a.Float() < b.Float()
			}
			return f.st.less(a, b, at)
		}
	case syntax.LessEqual:
		return func(f *frame) bool {
			a, b := both(f, left, right)
			if a.IsNumber() && b.IsNumber() {
				return a.Float() <= b.Float()
			}
			return f.st.lessEqual(a, b, at)
		}
	case syntax.Greater:
		return func(f *frame) bool {
			a, b := both(f, left, right)
			if a.IsNumber() && b.IsNumber() {
				return b.Float() < a.Float()
			}
			return f.st.less(b, a, at)
		}
	}
	return func(f *frame) bool {
		a, b := both(f, left, right)
		if a.IsNumber() && b.IsNumber() {
			return b.Float() <= a.Float()
		}
		return f.st.lessEqual(b, a, at)
	}
}

// compare compares two values.
func (st *State) compare(op syntax.Op, a, b value.Value, at *site) bool {
	switch op {
	case syntax.Equal:
		return st.equal(a, b, at)
	case syntax.NotEqual:
		return !st.equal(a, b, at)
	case syntax.Less:
		return st.less(a, b, at)
	case syntax.LessEqual:
		return st.lessEqual(a, b, at)
	case syntax.Greater:
		return st.less(b, a, at)
	}
	return st.lessEqual(b, a, at)
}

// both evaluates two operands in their order.
func both(f *frame, left, right expr) (a, b value.Value) {
	a = left(f)
	b = right(f)
	return a, b
}

// equal compiles an equality.
func (c *compiler) equal(e *syntax.Binary, left, right expr, at *site) cond {
	b, constant := c.constant(e.Right)
	if !constant {
		return func(f *frame) bool {
			a, b := both(f, left, right)
			return f.st.equal(a, b, at)
		}
	}
	switch b.Kind() {
	case value.NumberKind:
		x := b.Float()
		return func(f *frame) bool {
			a := left(f)
			return a.IsNumber() && a.Float() == x
		}
	case value.NilKind:
		return func(f *frame) bool { return left(f).IsNil() }
	case value.StringKind:
		s, _ := b.String()
		return func(f *frame) bool {
			a, ok := left(f).String()
			if !ok || a.Len() != s.Len() {
				return false
			}
			f.st.chargeString(s)
			return a.Equal(s)
		}
	case value.BooleanKind:
		return func(f *frame) bool { return value.Equal(left(f), b) }
	}
	return func(f *frame) bool { return f.st.equal(left(f), b, at) }
}
