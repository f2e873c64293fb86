package lua

import (
	"limitsrv/commands/scripts/lua/syntax"
	"limitsrv/commands/scripts/lua/value"
)

// A list is a sequence of expressions. The last expression may have any number of values.
type list struct {
	exprs []expr
	last  multi // or nil
}

func (c *compiler) list(exprs []syntax.Expr) list {
	var l list
	for i, e := range exprs {
		if i == len(exprs)-1 {
			if l.last = c.multi(e); l.last != nil {
				break
			}
		}
		l.exprs = append(l.exprs, c.expr(e))
	}
	return l
}

// isMulti reports whether an expression may have any number of values. A call of a known
// function of Go with a result has not.
func (c *compiler) isMulti(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.CallExpr:
		fixed := c.fixed(e)
		return fixed == nil || fixed.One == nil
	case *syntax.Vararg:
		return true
	}
	return false
}

// multi compiles an expression of any number of values. It returns nil for other
// expressions.
func (c *compiler) multi(e syntax.Expr) multi {
	if !c.isMulti(e) {
		return nil
	}
	switch e := e.(type) {
	case *syntax.CallExpr:
		return c.call(e).all()
	case *syntax.Vararg:
		return func(f *frame) []value.Value { return f.varargs }
	}
	return nil
}

// all pushes all values.
func (l list) all(f *frame) []value.Value {
	st := f.st
	values := st.push(len(l.exprs))
	for i, e := range l.exprs {
		values[i] = e(f)
	}
	if l.last == nil {
		return values
	}
	more := l.last(f)
	return st.extend(values, more)
}

// exactly pushes n values: missing values are nil.
func (l list) exactly(f *frame, n int) []value.Value {
	st := f.st
	values := st.push(max(n, len(l.exprs)))
	for i, e := range l.exprs {
		values[i] = e(f)
	}
	filled := len(l.exprs)
	if l.last != nil {
		more := l.last(f)
		if filled < len(values) {
			filled += copy(values[filled:], more)
		}
	}
	clear(values[filled:])
	return values
}
