package lua

import (
	"limitsrv/commands/scripts/lua/syntax"
	"limitsrv/commands/scripts/lua/value"
)

// concat compiles a concatenation.
func (c *compiler) concat(e *syntax.Concat) expr {
	operands := make([]expr, len(e.Operands))
	sites := make([]*site, len(e.Operands))
	for i, operand := range e.Operands {
		operands[i] = c.expr(operand)
		sites[i] = c.site(operand, e.Line)
	}
	return func(f *frame) value.Value {
		st := f.st
		base := st.top
		values := st.push(len(operands))
		for i, operand := range operands {
			values[i] = operand(f)
		}
		v, ok := st.join(values)
		if !ok {
			v = st.concat(values, sites)
		}
		st.top = base
		return v
	}
}
