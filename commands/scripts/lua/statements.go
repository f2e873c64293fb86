package lua

import (
	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/syntax"
	"limitsrv/commands/scripts/lua/value"
)

func (c *compiler) statement(s syntax.Statement) statement {
	c.enter()
	defer c.leave()
	switch s := s.(type) {
	case *syntax.LocalStatement:
		return c.localStatement(s)
	case *syntax.LocalFunction:
		return c.localFunction(s)
	case *syntax.Assign:
		return c.assign(s)
	case *syntax.CallStatement:
		call := c.call(s.Call).effect()
		return func(f *frame) signal {
			call(f)
			return proceed
		}
	case *syntax.Do:
		return c.block(s.Body)
	case *syntax.If:
		return c.ifStatement(s)
	case *syntax.While:
		return c.while(s)
	case *syntax.Repeat:
		return c.repeat(s)
	case *syntax.NumericFor:
		return c.numericFor(s)
	case *syntax.GenericFor:
		return c.genericFor(s)
	case *syntax.Return:
		return c.returnStatement(s)
	}
	return func(*frame) signal { return leaveLoop }
}

// declare returns a function that gives a new variable its value.
func declare(local *syntax.Local) func(f *frame, v value.Value) {
	slot := local.Slot
	if local.Captured {
		return func(f *frame, v value.Value) { f.boxes[slot] = f.st.newBox(v) }
	}
	return func(f *frame, v value.Value) { f.locals[slot] = v }
}

func (c *compiler) localStatement(s *syntax.LocalStatement) statement {
	if len(s.Locals) == 1 && len(s.Values) <= 1 {
		return c.declareOne(s)
	}
	if direct := c.declareEach(s); direct != nil {
		return direct
	}
	declarations := make([]func(*frame, value.Value), len(s.Locals))
	for i, local := range s.Locals {
		declarations[i] = declare(local)
	}
	values := c.list(s.Values)
	n := len(s.Locals)
	return func(f *frame) signal {
		base := f.st.top
		results := values.exactly(f, n)
		for i, d := range declarations {
			d(f, results[i])
		}
		f.st.top = base
		return proceed
	}
}

// declareEach compiles a declaration with a value for each variable: they are evaluated
// in the slots, which nothing uses before. It returns nil for other declarations.
func (c *compiler) declareEach(s *syntax.LocalStatement) statement {
	if len(s.Values) != len(s.Locals) {
		return nil
	}
	for _, local := range s.Locals {
		if local.Captured {
			return nil
		}
	}
	values := make([]expr, len(s.Values))
	for i, e := range s.Values {
		values[i] = c.expr(e)
	}
	slot := s.Locals[0].Slot
	return func(f *frame) signal {
		for i, v := range values {
			f.locals[slot+i] = v(f)
		}
		return proceed
	}
}

func (c *compiler) declareOne(s *syntax.LocalStatement) statement {
	slot := s.Locals[0].Slot
	v := expr(func(*frame) value.Value { return value.Nil })
	if len(s.Values) == 1 {
		v = c.expr(s.Values[0])
	}
	if s.Locals[0].Captured {
		return func(f *frame) signal {
			f.boxes[slot] = f.st.newBox(v(f))
			return proceed
		}
	}
	return func(f *frame) signal {
		f.locals[slot] = v(f)
		return proceed
	}
}

func (c *compiler) localFunction(s *syntax.LocalFunction) statement {
	slot := s.Local.Slot
	function := c.functionExpr(s.Function)
	if !s.Local.Captured {
		return func(f *frame) signal {
			f.locals[slot] = function(f)
			return proceed
		}
	}
	return func(f *frame) signal {
		b := f.st.newBox(value.Nil)
		f.boxes[slot] = b
		b.v = function(f)
		return proceed
	}
}

func (c *compiler) ifStatement(s *syntax.If) statement {
	conds := make([]cond, len(s.Conds))
	blocks := make([]statement, len(s.Blocks))
	for i, b := range s.Blocks {
		if i < len(conds) {
			conds[i] = c.cond(s.Conds[i])
		}
		blocks[i] = c.block(b)
	}
	test, then := conds[0], blocks[0]
	switch {
	case len(conds) == 1 && len(blocks) == 1:
		return func(f *frame) signal {
			if test(f) {
				return then(f)
			}
			return proceed
		}
	case len(conds) == 1:
		otherwise := blocks[1]
		return func(f *frame) signal {
			if test(f) {
				return then(f)
			}
			return otherwise(f)
		}
	}
	return func(f *frame) signal {
		for i, test := range conds {
			if test(f) {
				return blocks[i](f)
			}
		}
		if len(blocks) > len(conds) {
			return blocks[len(conds)](f)
		}
		return proceed
	}
}

func (c *compiler) while(s *syntax.While) statement {
	before := c.nodes
	test := c.cond(s.Cond)
	turn := c.cost(before)
	body := c.block(s.Body)
	return func(f *frame) signal {
		for test(f) {
			f.step(turn)
			if sig := body(f); sig != proceed {
				if sig == leaveLoop {
					break
				}
				return sig
			}
		}
		return proceed
	}
}

func (c *compiler) repeat(s *syntax.Repeat) statement {
	body := c.block(s.Body)
	before := c.nodes
	test := c.cond(s.Cond)
	turn := c.cost(before)
	return func(f *frame) signal {
		for {
			f.step(turn)
			if sig := body(f); sig != proceed {
				if sig == leaveLoop {
					return proceed
				}
				return sig
			}
			if test(f) {
				return proceed
			}
		}
	}
}

func (c *compiler) numericFor(s *syntax.NumericFor) statement {
	from, limit := c.expr(s.From), c.expr(s.Limit)
	step := expr(func(*frame) value.Value { return value.Number(1) })
	if s.Step != nil {
		step = c.expr(s.Step)
	}
	at := c.shared(site{line: s.Line})
	body := c.block(s.Body)
	slot, captured := s.Local.Slot, s.Local.Captured
	return func(f *frame) signal {
		a, b, d := from(f), limit(f), step(f)
		i := f.loopNumber(a, "initial value", at)
		last := f.loopNumber(b, "limit", at)
		by := f.loopNumber(d, "step", at)
		i = float64(i-by) + by // as Lua begins: it rounds, and -0 becomes 0
		for ; by > 0 && i <= last || by <= 0 && last <= i; i += by {
			f.step(1)
			if captured {
				f.boxes[slot] = f.st.newBox(value.Number(i))
			} else {
				f.locals[slot] = value.Number(i)
			}
			if sig := body(f); sig != proceed {
				if sig == leaveLoop {
					break
				}
				return sig
			}
		}
		return proceed
	}
}

// loopNumber returns a number of a for loop.
func (f *frame) loopNumber(v value.Value, role string, at *site) float64 {
	x, ok := f.st.ToNumber(v)
	if !ok {
		f.st.errorAt(at, "'for' %s must be a number", role)
	}
	return x
}

func (c *compiler) genericFor(s *syntax.GenericFor) statement {
	declarations := make([]func(*frame, value.Value), len(s.Locals))
	for i, local := range s.Locals {
		declarations[i] = declare(local)
	}
	values := c.list(s.Values)
	body := c.block(s.Body)
	at, generator := c.shared(site{line: s.Line}), c.shared(site{s.Line, "local", "(for generator)"})
	return func(f *frame) signal {
		base := f.st.top
		init := values.exactly(f, 3)
		iterator, state, control := init[0], init[1], init[2]
		f.st.top = base
		if g, ok := iterator.Ref().(*Function); ok && g.Loop != NoLoop {
			if t, ok := state.Table(); ok && g.Loop == LoopNext {
				return f.eachEntry(t, control, declarations, body, at)
			} else if ok && control.IsNumber() {
				return f.eachElement(t, control.Float(), declarations, body)
			}
		}
		for {
			f.step(2)
			base := f.st.top
			args := f.st.push(2)
			args[0], args[1] = state, control
			f.site = generator
			results := f.st.callAny(iterator, args, at)
			control = first(results)
			if control.IsNil() {
				f.st.top = base
				return proceed
			}
			f.declareAll(declarations, results)
			f.st.top = base
			if sig := body(f); sig != proceed {
				if sig == leaveLoop {
					return proceed
				}
				return sig
			}
		}
	}
}

// declareAll gives new variables their values. Some values may be missing. The values may
// be in memory that the next call uses.
func (f *frame) declareAll(declarations []func(*frame, value.Value), values []value.Value) {
	for i, d := range declarations {
		if i < len(values) {
			d(f, values[i])
		} else {
			d(f, value.Nil)
		}
	}
}

// eachEntry is the loop over next, without a call for each entry.
func (f *frame) eachEntry(t *value.Table, control value.Value, declarations []func(*frame, value.Value), body statement,
	at *site) signal {
	cursor := 0
	for {
		f.step(2)
		here, ok := t.Cursor(control, cursor)
		if !ok {
			f.site = at
			f.st.ErrorText("invalid key to 'next'")
		}
		var v value.Value
		control, v, cursor = t.Next(here)
		f.step(int64((cursor - here) / 16))
		if control.IsNil() {
			return proceed
		}
		declarations[0](f, control)
		if len(declarations) > 1 {
			declarations[1](f, v)
			for _, d := range declarations[2:] {
				d(f, value.Nil)
			}
		}
		if sig := body(f); sig != proceed {
			if sig == leaveLoop {
				return proceed
			}
			return sig
		}
	}
}

// eachElement is the loop of ipairs, without a call for each element.
func (f *frame) eachElement(t *value.Table, before float64, declarations []func(*frame, value.Value),
	body statement) signal {
	for i := int(number.ToInt32(before)) + 1; ; i++ {
		f.step(2)
		v := t.GetInt(i)
		if v.IsNil() {
			return proceed
		}
		declarations[0](f, value.Number(float64(i)))
		if len(declarations) > 1 {
			declarations[1](f, v)
			for _, d := range declarations[2:] {
				d(f, value.Nil)
			}
		}
		if sig := body(f); sig != proceed {
			if sig == leaveLoop {
				return proceed
			}
			return sig
		}
	}
}

func (c *compiler) returnStatement(s *syntax.Return) statement {
	if len(s.Values) == 1 {
		if call, ok := s.Values[0].(*syntax.CallExpr); ok {
			return c.call(call).tail()
		}
		if _, ok := s.Values[0].(*syntax.Vararg); !ok {
			v := c.expr(s.Values[0])
			return func(f *frame) signal {
				f.value = v(f)
				return returnOne
			}
		}
	}
	values := c.list(s.Values)
	return func(f *frame) signal {
		f.values = values.all(f)
		return returnMany
	}
}
