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
	loops    []bool         // for each open block: whether it is a loop
	upvalues map[*Local]int // indexes of the upvalues of function
}

// open begins a function.
func (p *parser) open(function *Function) {
	p.fs = &functionState{function: function, outer: p.fs}
}

// close ends it.
func (p *parser) close() {
	p.deactivate(0)
	p.fs = p.fs.outer
}

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
		p.visible[local.Name] = append(p.visible[local.Name], binding{local, f})
	}
	f.function.Slots = max(f.function.Slots, len(f.active))
}

// deactivate ends the scope of all variables of the function except the first n.
func (p *parser) deactivate(n int) {
	f := p.fs
	for i := len(f.active) - 1; i >= n; i-- {
		name := f.active[i].Name
		same := p.visible[name]
		p.visible[name] = same[:len(same)-1]
	}
	f.active = f.active[:n]
}

// A binding is a variable in scope with the function that declares it.
type binding struct {
	local *Local
	owner *functionState
}

// resolve returns the variable with this name. Cost: one map lookup. The first use in a function
// costs another lookup for each function between it and the declaration.
func (p *parser) resolve(name string) Expr {
	same := p.visible[name]
	if len(same) == 0 {
		return &GlobalExpr{name, p.lastLine}
	}
	b := same[len(same)-1]
	if b.owner == p.fs {
		return &LocalExpr{b.local}
	}
	return &UpvalueExpr{p.upvalue(p.fs, b), name}
}

// upvalue returns the index of the upvalue of f that refers to a variable of an enclosing function.
func (p *parser) upvalue(f *functionState, b binding) int {
	if i, ok := f.upvalues[b.local]; ok {
		return i
	}
	up := Upvalue{Name: b.local.Name}
	if f.outer == b.owner {
		up.Local = b.local
		up.Local.Captured = true
		f.outer.function.Captures = true
	} else {
		up.Index = p.upvalue(f.outer, b)
	}
	inner := p.fs
	p.fs = f
	p.limit(len(f.function.Upvalues)+1, maxUpvalues, "upvalues")
	p.fs = inner
	if f.upvalues == nil {
		f.upvalues = make(map[*Local]int)
	}
	i := len(f.function.Upvalues)
	f.function.Upvalues, f.upvalues[b.local] = append(f.function.Upvalues, up), i
	return i
}
