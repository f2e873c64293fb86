package syntax

import (
	"math"

	"limitsrv/commands/scripts/lua/number"
)

// operators are the priorities to the left and right of binary operators; a smaller
// priority to the right makes an operator right associative.
var operators = [...]struct{ left, right int }{
	Add: {6, 6}, Sub: {6, 6}, Mul: {7, 7}, Div: {7, 7}, Mod: {7, 7}, Pow: {10, 9}, OpConcat: {5, 4},
	Equal: {3, 3}, NotEqual: {3, 3}, Less: {3, 3}, LessEqual: {3, 3}, Greater: {3, 3}, GreaterEqual: {3, 3}, And: {2, 2},
	Or: {1, 1},
}

// unaryPriority is the priority of unary operators.
const unaryPriority = 8

func binaryOp(k kind) Op {
	switch k {
	case '+':
		return Add
	case '-':
		return Sub
	case '*':
		return Mul
	case '/':
		return Div
	case '%':
		return Mod
	case '^':
		return Pow
	case concatToken:
		return OpConcat
	case equalToken:
		return Equal
	case notEqualToken:
		return NotEqual
	case '<':
		return Less
	case lessEqualToken:
		return LessEqual
	case '>':
		return Greater
	case greaterEqualToken:
		return GreaterEqual
	case kwAnd:
		return And
	case kwOr:
		return Or
	}
	return noOp
}

func unaryOp(k kind) Op {
	switch k {
	case '-':
		return Negate
	case '#':
		return Length
	case kwNot:
		return Not
	}
	return noOp
}

func (p *parser) parseExprs() []Expr {
	exprs := []Expr{p.parseExpr()}
	for p.accept(',') {
		exprs = append(exprs, p.parseExpr())
	}
	return exprs
}

func (p *parser) parseExpr() Expr { return p.parseSub(0) }

// parseSub parses an expression of operators above a priority.
func (p *parser) parseSub(limit int) Expr {
	p.enter()
	var left Expr
	if op := unaryOp(p.current.kind); op != noOp {
		p.next()
		left = p.unary(op, p.parseSub(unaryPriority))
	} else {
		left = strip(p.parseSimple())
	}
	for {
		op := binaryOp(p.current.kind)
		if op == noOp || operators[op].left <= limit {
			break
		}
		p.next()
		left = p.binary(op, left, p.parseSub(operators[op].right))
	}
	p.leave()
	return left
}

// strip removes parentheses that have no effect on the value.
func strip(e Expr) Expr {
	paren, ok := e.(*Paren)
	if !ok {
		return e
	}
	switch paren.Inner.(type) {
	case *CallExpr, *Vararg:
		return e
	}
	return paren.Inner
}

func (p *parser) unary(op Op, operand Expr) Expr {
	if n, ok := operand.(*Number); ok && op == Negate {
		return &Number{-n.Value}
	}
	if truth, ok := truthOf(operand); ok && op == Not {
		return &Bool{!truth}
	}
	return &Unary{op, operand, p.lastLine}
}

// truthOf returns the truth of a constant.
func truthOf(e Expr) (truth, ok bool) {
	switch e := e.(type) {
	case *Nil:
		return false, true
	case *Bool:
		return e.Value, true
	case *Number, *String:
		return true, true
	}
	return false, false
}

// single cuts the values of an expression to the first.
func single(e Expr) Expr {
	switch e.(type) {
	case *CallExpr, *Vararg:
		return &Paren{e}
	}
	return e
}

func (p *parser) binary(op Op, left, right Expr) Expr {
	switch op {
	case And, Or:
		if truth, ok := truthOf(left); ok && truth == (op == And) {
			return single(right)
		}
		return &Logic{op == And, left, right}
	case OpConcat:
		operands := []Expr{left}
		if c, ok := right.(*Concat); ok {
			operands = append(operands, c.Operands...)
		} else {
			operands = append(operands, right)
		}
		return &Concat{operands, p.lastLine}
	}
	if a, ok := left.(*Number); ok {
		if b, ok := right.(*Number); ok {
			if x, ok := p.fold(op, a.Value, b.Value); ok {
				return &Number{x}
			}
		}
	}
	return &Binary{op, left, right, p.lastLine}
}

// fold computes an operation on constants, unless it divides by zero or is no number.
func (p *parser) fold(op Op, a, b float64) (float64, bool) {
	var x float64
	switch op {
	case Add:
		x = a + b
	case Sub:
		x = a - b
	case Mul:
		x = float64(a * b)
	case Div, Mod:
		if b == 0 {
			return 0, false
		}
		if x = a / b; op == Mod {
			x = a - float64(math.Floor(x)*b)
		}
	case Pow:
		x = number.Pow(a, b)
		if native := number.NativePow(a, b); native != x {
			p.nativeDiffers = true
			if p.native {
				x = native
			}
		}
	default:
		return 0, false
	}
	return x, !math.IsNaN(x)
}

func (p *parser) parseSimple() Expr {
	var e Expr
	switch p.current.kind {
	case numberToken:
		e = &Number{p.current.number}
	case stringToken:
		e = &String{p.current.text}
	case kwNil:
		e = &Nil{}
	case kwTrue, kwFalse:
		e = &Bool{p.current.kind == kwTrue}
	case dotsToken:
		if !p.fs.function.Vararg {
			p.failHere("cannot use '...' outside a vararg function")
		}
		p.fs.function.UsesVararg = true
		e = &Vararg{}
	case '{':
		return p.parseTable()
	case kwFunction:
		line := p.line
		p.next()
		return &FunctionExpr{p.parseBody(false, line)}
	default:
		return p.parsePrimary()
	}
	p.next()
	return e
}

// parsePrimary parses a variable or an expression in parentheses, with the indices and
// calls after it.
func (p *parser) parsePrimary() Expr {
	e := p.parsePrefix()
	for {
		switch p.current.kind {
		case '.':
			p.next()
			key := &String{p.name()}
			e = &IndexExpr{strip(e), key, p.lastLine}
		case '[':
			key := p.parseIndex()
			e = &IndexExpr{strip(e), key, p.lastLine}
		case ':':
			p.next()
			method := p.name()
			e = p.parseCall(strip(e), method)
		case '(', stringToken, '{':
			e = p.parseCall(strip(e), "")
		default:
			return e
		}
	}
}

func (p *parser) parsePrefix() Expr {
	switch p.current.kind {
	case '(':
		line := p.line
		p.next()
		inner := p.parseExpr()
		p.expectClosing(')', '(', line)
		return &Paren{inner}
	case nameToken:
		return p.resolve(p.name())
	}
	p.failHere("unexpected symbol")
	panic("unreachable")
}

// parseIndex parses a key in brackets.
func (p *parser) parseIndex() Expr {
	p.next()
	key := p.parseExpr()
	p.expect(']')
	return key
}

func (p *parser) parseCall(callee Expr, method string) Expr {
	call := &CallExpr{Callee: callee, Method: method, Line: p.line}
	switch p.current.kind {
	case '(':
		if p.line != p.lastLine {
			p.failHere("ambiguous syntax (function call x new statement)")
		}
		p.next()
		if p.current.kind != ')' {
			call.Args = p.parseExprs()
		}
		p.expectClosing(')', '(', call.Line)
	case '{':
		call.Args = []Expr{p.parseTable()}
	case stringToken:
		call.Args = []Expr{&String{p.current.text}}
		p.next()
	default:
		p.failHere("function arguments expected")
	}
	if len(call.Args) > maxArgs {
		p.failHere("function or expression too complex")
	}
	return call
}

// maxArgs is about the number of arguments that fit into Lua's registers.
const maxArgs = 248

func (p *parser) parseTable() Expr {
	table := &TableExpr{Line: p.line}
	p.expect('{')
	for p.current.kind != '}' {
		var field Field
		switch {
		case p.current.kind == nameToken && p.peek() == '=':
			field.Key = &String{p.name()}
			p.next()
		case p.current.kind == '[':
			field.Key = p.parseIndex()
			p.expect('=')
		}
		field.Value = p.parseExpr()
		field.Line = p.lastLine
		table.Fields = append(table.Fields, field)
		if !p.accept(',') && !p.accept(';') {
			break
		}
	}
	p.expectClosing('}', '{', table.Line)
	return table
}

// parseBody parses parameters and body of a function that begins on a line.
func (p *parser) parseBody(method bool, line int) *Function {
	function := &Function{Chunk: p.chunk, Line: line}
	p.open(function)
	p.expect('(')
	if method {
		function.Params = append(function.Params, p.newLocal("self", 0))
	}
	p.parseParams()
	p.activate(function.Params...)
	if function.Arg != nil {
		p.activate(function.Arg)
	}
	p.expect(')')
	function.Body = p.statements()
	p.expectClosing(kwEnd, kwFunction, line)
	p.close()
	return function
}

// parseParams parses parameters, which are not in scope yet.
func (p *parser) parseParams() {
	function := p.fs.function
	if p.current.kind == ')' {
		return
	}
	for {
		switch p.current.kind {
		case nameToken:
			function.Params = append(function.Params, p.newLocal(p.name(), len(function.Params)))
		case dotsToken:
			p.next()
			function.Arg = p.newLocal("arg", len(function.Params))
			function.Vararg = true
			return
		default:
			p.failHere("<name> or '...' expected")
		}
		if !p.accept(',') {
			return
		}
	}
}
