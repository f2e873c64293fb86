package syntax

import "fmt"

// A parser makes the tree of a source.
type parser struct {
	lexer
	fs      *functionState
	levels  int
	visible map[string][]binding // the variables in scope, by name; the innermost is last
	native  bool                 // see ParseNative
	// nativeDiffers is Function.NativeDiffers.
	nativeDiffers bool
}

// Parse returns the main function of a chunk, with its variables resolved. chunk is its
// name in errors, and levels counts calls in progress against the limit of nested
// constructs. Errors are of type *Error, with the texts of Lua 5.1. Cost: linear in the
// length of source; the depth of the recursion is bounded.
func Parse(source []byte, chunk string, levels int) (main *Function, err error) {
	return parse(source, chunk, levels, false)
}

// ParseNative is Parse, but powers of constants are computed by number.NativePow.
func ParseNative(source []byte, chunk string, levels int) (main *Function, err error) {
	return parse(source, chunk, levels, true)
}

func parse(source []byte, chunk string, levels int, native bool) (main *Function, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			e, ok := failure.(*Error)
			if !ok {
				panic(failure)
			}
			err = e
		}
	}()
	p := &parser{
		lexer:  lexer{chunk: chunk, source: source, line: 1, lastLine: 1},
		levels: levels, native: native, visible: make(map[string][]binding),
	}
	main = &Function{Chunk: chunk, Vararg: true}
	p.open(main)
	p.next()
	main.Body = p.statements()
	p.check(endOfSource)
	p.close()
	main.NativeDiffers = p.nativeDiffers
	return main, nil
}

// enter begins a nested construct, and leave ends it.
func (p *parser) enter() {
	if p.levels++; p.levels > maxLevels {
		p.fail("chunk has too many syntax levels", noToken)
	}
}

func (p *parser) leave() { p.levels-- }

// accept takes the current token if it is of a kind.
func (p *parser) accept(k kind) bool {
	if p.current.kind != k {
		return false
	}
	p.next()
	return true
}

// check fails unless the current token is of a kind.
func (p *parser) check(k kind) {
	if p.current.kind != k {
		p.failHere(fmt.Sprintf("'%s' expected", k))
	}
}

// expect takes a token of a kind.
func (p *parser) expect(k kind) {
	p.check(k)
	p.next()
}

// expectClosing takes the token that ends a construct, which an opening token on a line
// began.
func (p *parser) expectClosing(closing, opening kind, line int) {
	if p.accept(closing) {
		return
	}
	if line == p.line {
		p.check(closing)
	}
	p.failHere(fmt.Sprintf("'%s' expected (to close '%s' at line %d)", closing, opening, line))
}

func (p *parser) name() string {
	if p.current.kind != nameToken {
		p.failHere("'<name>' expected")
	}
	text := p.current.text
	p.next()
	return text
}

// endsBlock reports whether the current token ends a block.
func (p *parser) endsBlock() bool {
	switch p.current.kind {
	case endOfSource, kwElse, kwElseif, kwEnd, kwUntil:
		return true
	}
	return false
}

// statements parses statements up to the end of a block.
func (p *parser) statements() *Block {
	p.enter()
	block := &Block{}
	for last := false; !last && !p.endsBlock(); p.accept(';') {
		var s Statement
		s, last = p.parseStatement()
		block.Statements = append(block.Statements, s)
	}
	p.leave()
	return block
}

// block parses a block with a scope of its own.
func (p *parser) block(loop bool) *Block {
	scope := len(p.fs.active)
	p.fs.loops = append(p.fs.loops, loop)
	block := p.statements()
	p.endScope(scope)
	return block
}

func (p *parser) endScope(scope int) {
	p.deactivate(scope)
	p.fs.loops = p.fs.loops[:len(p.fs.loops)-1]
}

// parseStatement parses a statement. last reports whether it must end its block.
func (p *parser) parseStatement() (s Statement, last bool) {
	line := p.line
	switch p.current.kind {
	case kwIf:
		return p.parseIf(line), false
	case kwWhile:
		p.next()
		cond := p.parseExpr()
		p.expect(kwDo)
		body := p.block(true)
		p.expectClosing(kwEnd, kwWhile, line)
		return &While{cond, body}, false
	case kwDo:
		p.next()
		body := p.block(false)
		p.expectClosing(kwEnd, kwDo, line)
		return &Do{body}, false
	case kwFor:
		return p.parseFor(line), false
	case kwRepeat:
		return p.parseRepeat(line), false
	case kwFunction:
		return p.parseFunctionStatement(line), false
	case kwLocal:
		p.next()
		if p.accept(kwFunction) {
			return p.parseLocalFunction(), false
		}
		return p.parseLocal(), false
	case kwReturn:
		p.next()
		if p.endsBlock() || p.current.kind == ';' {
			return &Return{}, true
		}
		return &Return{p.parseExprs()}, true
	case kwBreak:
		p.next()
		for _, loop := range p.fs.loops {
			if loop {
				return &Break{}, true
			}
		}
		p.failHere("no loop to break")
	}
	return p.parseExprStatement(), false
}

func (p *parser) parseIf(line int) Statement {
	s := &If{}
	for {
		p.next() // if or elseif
		s.Conds = append(s.Conds, p.parseExpr())
		p.expect(kwThen)
		s.Blocks = append(s.Blocks, p.block(false))
		if p.current.kind != kwElseif {
			break
		}
	}
	if p.accept(kwElse) {
		s.Blocks = append(s.Blocks, p.block(false))
	}
	p.expectClosing(kwEnd, kwIf, line)
	return s
}

func (p *parser) parseRepeat(line int) Statement {
	scope := len(p.fs.active)
	p.fs.loops = append(p.fs.loops, true)
	p.next()
	body := p.statements()
	p.expectClosing(kwUntil, kwRepeat, line)
	cond := p.parseExpr()
	p.endScope(scope)
	return &Repeat{body, cond}
}

func (p *parser) parseFor(line int) Statement {
	scope := len(p.fs.active)
	p.next()
	name := p.name()
	var s Statement
	switch p.current.kind {
	case '=':
		s = p.parseNumericFor(name, line)
	case ',', kwIn:
		s = p.parseGenericFor(name)
	default:
		p.failHere("'=' or 'in' expected")
	}
	p.expectClosing(kwEnd, kwFor, line)
	p.deactivate(scope)
	return s
}

// hidden makes the variables of a loop that scripts cannot name.
func (p *parser) hidden(names ...string) []*Local {
	locals := make([]*Local, len(names))
	for i, name := range names {
		locals[i] = p.newLocal(name, i)
	}
	return locals
}

func (p *parser) parseNumericFor(name string, line int) Statement {
	hidden := p.hidden("(for index)", "(for limit)", "(for step)")
	s := &NumericFor{Local: p.newLocal(name, len(hidden)), Line: line}
	p.next() // =
	s.From = p.parseExpr()
	p.expect(',')
	s.Limit = p.parseExpr()
	if p.accept(',') {
		s.Step = p.parseExpr()
	}
	s.Body = p.loopBody(hidden, []*Local{s.Local})
	return s
}

func (p *parser) parseGenericFor(name string) Statement {
	hidden := p.hidden("(for generator)", "(for state)", "(for control)")
	s := &GenericFor{Locals: []*Local{p.newLocal(name, len(hidden))}}
	for p.accept(',') {
		s.Locals = append(s.Locals, p.newLocal(p.name(), len(hidden)+len(s.Locals)))
	}
	p.expect(kwIn)
	s.Line = p.line
	s.Values = p.parseExprs()
	s.Body = p.loopBody(hidden, s.Locals)
	return s
}

// loopBody parses the body of a for loop, up to its end.
func (p *parser) loopBody(hidden, locals []*Local) *Block {
	p.activate(hidden...)
	p.expect(kwDo)
	scope := len(p.fs.active)
	p.fs.loops = append(p.fs.loops, true)
	p.activate(locals...)
	body := p.statements()
	p.endScope(scope)
	return body
}

func (p *parser) parseFunctionStatement(line int) Statement {
	p.next()
	target := p.resolve(p.name())
	method := false
	for p.current.kind == '.' || p.current.kind == ':' {
		method = p.current.kind == ':'
		p.next()
		key := &String{p.name()}
		target = &IndexExpr{target, key, p.lastLine}
		if method {
			break
		}
	}
	function := p.parseBody(method, line)
	return &Assign{[]Expr{target}, []Expr{&FunctionExpr{function}}, line}
}

func (p *parser) parseLocalFunction() Statement {
	local := p.newLocal(p.name(), 0)
	p.activate(local)
	return &LocalFunction{local, p.parseBody(false, p.line)}
}

func (p *parser) parseLocal() Statement {
	s := &LocalStatement{}
	for {
		s.Locals = append(s.Locals, p.newLocal(p.name(), len(s.Locals)))
		if !p.accept(',') {
			break
		}
	}
	if p.accept('=') {
		s.Values = p.parseExprs()
	}
	p.activate(s.Locals...)
	return s
}

// parseExprStatement parses a call or an assignment.
func (p *parser) parseExprStatement() Statement {
	first := p.parsePrimary()
	if call, ok := first.(*CallExpr); ok {
		return &CallStatement{call}
	}
	s := &Assign{}
	for target := first; ; target = p.parsePrimary() {
		s.Targets = append(s.Targets, target)
		p.limit(len(s.Targets)-1, maxLevels-p.levels, "variables in assignment")
		switch target.(type) {
		case *LocalExpr, *UpvalueExpr, *GlobalExpr, *IndexExpr:
		default:
			p.failHere("syntax error")
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect('=')
	s.Values = p.parseExprs()
	s.Line = p.lastLine
	return s
}
