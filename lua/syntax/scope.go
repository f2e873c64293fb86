package syntax

import "fmt"

// The limits of Lua 5.1.
const (
	maxLocals   = 200
	maxUpvalues = 60
	maxLevels   = 200 // of nested blocks, functions and expressions
)

// A functionState is a function while its body is parsed.
type functionState struct {
	function *Function
	outer    *functionState
	active   []*Local
	loops    []bool // for each open block: whether it is a loop
}

// open begins a function.
func (p *parser) open(function *Function) {
	p.fs = &functionState{function: function, outer: p.fs}
}

// close ends it.
func (p *parser) close() { p.fs = p.fs.outer }

// limit reports too many of things.
func (p *parser) limit(n, most int, things string) {
	if n <= most {
		return
	}
	where := "main function"
	if line := p.fs.function.Line; line > 0 {
		where = fmt.Sprintf("function at line %d", line)
	}
	p.fail(fmt.Sprintf("%s has more than %d %s", where, most, things), noToken)
}

// newLocal makes a variable that is in scope from activate on. pending are those made
// before that are not active yet.
func (p *parser) newLocal(name string, pending int) *Local {
	p.limit(len(p.fs.active)+pending+1, maxLocals, "local variables")
	return &Local{Name: name}
}

// activate brings variables into scope.
func (p *parser) activate(locals ...*Local) {
	f := p.fs
	for _, local := range locals {
		local.Slot = len(f.active)
		f.active = append(f.active, local)
	}
	f.function.Slots = max(f.function.Slots, len(f.active))
}

// find returns the variable in scope of a name.
func (f *functionState) find(name string) *Local {
	for i := len(f.active) - 1; i >= 0; i-- {
		if f.active[i].Name == name {
			return f.active[i]
		}
	}
	return nil
}

// resolve returns the variable of a name.
func (p *parser) resolve(name string) Expr {
	if local := p.fs.find(name); local != nil {
		return &LocalExpr{local}
	}
	if i, ok := p.upvalue(p.fs, name); ok {
		return &UpvalueExpr{i, name}
	}
	return &GlobalExpr{name, p.lastLine}
}

// upvalue returns the index of the upvalue of a name in f. It returns false if the name
// is a global variable.
func (p *parser) upvalue(f *functionState, name string) (int, bool) {
	if f.outer == nil {
		return 0, false
	}
	up := Upvalue{Name: name}
	if up.Local = f.outer.find(name); up.Local != nil {
		up.Local.Captured = true
		f.outer.function.Captures = true
	} else {
		i, ok := p.upvalue(f.outer, name)
		if !ok {
			return 0, false
		}
		up.Index = i
	}
	for i, known := range f.function.Upvalues {
		if known == up {
			return i, true
		}
	}
	inner := p.fs
	p.fs = f
	p.limit(len(f.function.Upvalues)+1, maxUpvalues, "upvalues")
	p.fs = inner
	f.function.Upvalues = append(f.function.Upvalues, up)
	return len(f.function.Upvalues) - 1, true
}
