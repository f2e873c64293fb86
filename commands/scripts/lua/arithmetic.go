package lua

import (
	"math"

	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/syntax"
	"limitsrv/commands/scripts/lua/value"
)

func isArithmetic(op syntax.Op) bool { return op <= syntax.Pow }

// arithmeticEvents are the metamethods of the operators.
var arithmeticEvents = [...]event{
	syntax.Add: eventAdd, syntax.Sub: eventSub, syntax.Mul: eventMul, syntax.Div: eventDiv, syntax.Mod: eventMod,
	syntax.Pow: eventPow,
}

// compute applies an operator. Products are converted, so that no compiler fuses them
// with a sum: results must be the same on all machines.
func (st *State) compute(op syntax.Op, a, b float64) (x float64) {
	switch op {
	case syntax.Add:
		x = a + b
	case syntax.Sub:
		x = a - b
	case syntax.Mul:
		x = float64(a * b)
	case syntax.Div:
		x = a / b
	case syntax.Mod:
		x = a - float64(math.Floor(a/b)*b)
	default:
		return st.Pow(a, b)
	}
	if x != x {
		x = st.nan(x, a, b)
	}
	return x
}

// nan returns the NaN of an operation on a and b. x is the NaN that the processor computed.
func (st *State) nan(x, a, b float64) float64 {
	if st.limits.Native {
		return x
	}
	return number.NaN(a, b)
}

// Pow returns a^b.
func (st *State) Pow(a, b float64) float64 {
	if st.limits.Native {
		return number.NativePow(a, b)
	}
	return number.Pow(a, b)
}

// IsNative reports whether the run is Native.
func (st *State) IsNative() bool { return st.limits.Native }

// An operation is the state of the slow path: operator and sites of both operands.
type operation struct {
	op          syntax.Op
	left, right *site
}

// slow computes with strings and metamethods.
func (o *operation) slow(f *frame, a, b value.Value) value.Value {
	if x, ok := f.st.ToNumber(a); ok {
		if y, ok := f.st.ToNumber(b); ok {
			return value.Number(f.st.compute(o.op, x, y))
		}
	}
	e := arithmeticEvents[o.op]
	h := f.st.metamethod(a, e)
	if h.IsNil() {
		h = f.st.metamethod(b, e)
	}
	if !h.IsNil() {
		return f.st.callHandler(h, o.left, a, b)
	}
	if _, ok := f.st.ToNumber(a); ok {
		f.st.typeError("perform arithmetic on", b, o.right)
	}
	f.st.typeError("perform arithmetic on", a, o.left)
	return value.Nil
}

// operands compiles the operands of an arithmetic operation. A number on the left becomes
// a constant of the function last.
func (c *compiler) operands(e *syntax.Binary) (left, right expr) {
	if _, ok := e.Left.(*syntax.Number); ok {
		right = c.expr(e.Right)
		return c.expr(e.Left), right
	}
	left = c.expr(e.Left)
	return left, c.expr(e.Right)
}

func (c *compiler) arithmetic(e *syntax.Binary) expr {
	o := &operation{e.Op, c.site(e.Left, e.Line), c.site(e.Right, e.Line)}
	left, right := c.operands(e)
	if isCaptured(e.Left) {
		return func(f *frame) value.Value {
			b := right(f)
			a := left(f)
			if a.IsNumber() && b.IsNumber() {
				return value.Number(f.st.compute(o.op, a.Float(), b.Float()))
			}
			return o.slow(f, a, b)
		}
	}
	if n, ok := e.Right.(*syntax.Number); ok {
		return o.withConstant(left, c.sharedZero(n.Value))
	}
	switch e.Op {
	case syntax.Add:
		return o.add(left, right)
	case syntax.Sub:
		return o.sub(left, right)
	case syntax.Mul:
		return o.mul(left, right)
	}
	return func(f *frame) value.Value {
		a := left(f)
		b := right(f)
		if a.IsNumber() && b.IsNumber() {
			return value.Number(f.st.compute(o.op, a.Float(), b.Float()))
		}
		return o.slow(f, a, b)
	}
}

// add returns the expression left + right.
func (o *operation) add(left, right expr) expr {
	return func(f *frame) value.Value {
		a := left(f)
		b := right(f)
		if a.IsNumber() && b.IsNumber() {
			x := a.Float() + b.Float()
			if x != x {
				x = f.st.nan(x, a.Float(), b.Float())
			}
			return value.Number(x)
		}
		return o.slow(f, a, b)
	}
}

// sub returns the expression left - right.
func (o *operation) sub(left, right expr) expr {
	return func(f *frame) value.Value {
		a := left(f)
		b := right(f)
		if a.IsNumber() && b.IsNumber() {
			x := a.Float() - b.Float()
			if x != x {
				x = f.st.nan(x, a.Float(), b.Float())
			}
			return value.Number(x)
		}
		return o.slow(f, a, b)
	}
}

// mul returns the expression left * right.
func (o *operation) mul(left, right expr) expr {
	return func(f *frame) value.Value {
		a := left(f)
		b := right(f)
		if a.IsNumber() && b.IsNumber() {
			x := float64(a.Float() * b.Float())
			if x != x {
				x = f.st.nan(x, a.Float(), b.Float())
			}
			return value.Number(x)
		}
		return o.slow(f, a, b)
	}
}

// withConstant compiles an operation with a constant on the right.
func (o *operation) withConstant(left expr, x float64) expr {
	b := value.Number(x)
	switch o.op {
	case syntax.Add, syntax.Sub:
		y := x
		if o.op == syntax.Sub {
			y = -x
		}
		return func(f *frame) value.Value {
			a := left(f)
			if a.IsNumber() {
				s := a.Float() + y
				if s != s {
					s = f.st.nan(s, a.Float(), x)
				}
				return value.Number(s)
			}
			return o.slow(f, a, b)
		}
	case syntax.Div:
		return func(f *frame) value.Value {
			a := left(f)
			if a.IsNumber() {
				q := a.Float() / x
				if q != q {
					q = f.st.nan(q, a.Float(), x)
				}
				return value.Number(q)
			}
			return o.slow(f, a, b)
		}
	}
	return func(f *frame) value.Value {
		a := left(f)
		if a.IsNumber() {
			return value.Number(f.st.compute(o.op, a.Float(), x))
		}
		return o.slow(f, a, b)
	}
}
