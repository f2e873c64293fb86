package scripts

import (
	"strings"

	"limitsrv/commands/scripts/lua/syntax"
	"limitsrv/commands/spec"
)

// uses is how a script calls commands, as far as its text says so: by redis.call and
// redis.pcall with the constant name of a command.
type uses struct {
	// declared is set if each key of a command is an element of KEYS, or a local variable
	// that only ever is an element of KEYS, and nothing else uses KEYS as a whole.
	declared bool
	// reads is set if no command writes.
	reads bool
	// publishes is set if a command is PUBLISH.
	publishes bool
	// constant is set if names has all commands, in any case.
	constant bool
	names    []string
}

// modes returns the modes of a script or function, which may have the flag no-writes.
func (u *uses) modes(noWrites bool) (m Modes) {
	if u.declared {
		m |= Declared
	}
	switch {
	case u.reads || noWrites:
		m |= Looks
	case u.publishes:
		m |= Ordered
	}
	return m
}

// usesOf examines the tree of a script or library for calls of this level. tables are the variables
// that hold the tables of keys of a library's functions.
func usesOf(main *syntax.Function, tables map[*syntax.Local]bool, level uint8) uses {
	x := &examiner{
		uses: uses{declared: true, reads: true, constant: true}, keys: make(map[*syntax.Local]bool), tables: tables,
		level: level,
	}
	w := walker{expr: func(syntax.Expr) bool { return true }, statement: x.findKeys}
	w.block(main.Body)
	w = walker{expr: x.expr, statement: x.statement}
	x.walker = &w
	w.block(main.Body)
	return x.uses
}

// An examiner finds out the uses of a script.
type examiner struct {
	uses
	keys   map[*syntax.Local]bool // true: only ever elements of KEYS
	tables map[*syntax.Local]bool // that are as KEYS
	level  uint8
	walker *walker
}

// open notes that any command may be called with any key.
func (x *examiner) open() { x.uses = uses{} }

// findKeys finds the local variables that are only ever elements of KEYS.
func (x *examiner) findKeys(s syntax.Statement) {
	switch s := s.(type) {
	case *syntax.LocalStatement:
		for i, local := range s.Locals {
			if _, known := x.keys[local]; !known && !local.Captured && i < len(s.Values) && x.isElementOfKeys(s.Values[i]) {
				x.keys[local] = true
			}
		}
	case *syntax.Assign:
		for _, target := range s.Targets {
			if l, ok := target.(*syntax.LocalExpr); ok {
				x.keys[l.Local] = false
			}
		}
	}
}

// statement looks for changes of KEYS.
func (x *examiner) statement(s syntax.Statement) {
	if s, ok := s.(*syntax.Assign); ok {
		for _, target := range s.Targets {
			if x.isElementOfKeys(target) {
				x.declared = false
			}
		}
	}
}

// expr examines an expression, and reports whether those within have to be examined too.
func (x *examiner) expr(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.CallExpr:
		if field, ok := fieldOfRedis(e.Callee, x.level); ok && e.Method == "" && isCall(field) {
			x.call(e.Args)
			for _, arg := range e.Args {
				x.walker.one(arg)
			}
			return false
		}
	case *syntax.IndexExpr:
		if x.isElementOfKeys(e) {
			x.walker.one(e.Key)
			return false
		}
		if field, ok := fieldOfRedis(e, x.level); ok {
			if isCall(field) {
				x.open()
			}
			return false
		}
	case *syntax.Unary:
		return e.Op != syntax.Length || !x.isKeys(e.Operand)
	case *syntax.GlobalExpr:
		switch {
		case isAPI(e.Name, x.level), e.Name == "_G", e.Name == "load", e.Name == "loadstring":
			x.open()
		case e.Name == "KEYS":
			x.declared = false
		}
	case *syntax.LocalExpr:
		x.declared = x.declared && !x.isKeys(e)
	}
	return true
}

// call examines the arguments of redis.call.
func (x *examiner) call(args []syntax.Expr) {
	if len(args) == 0 {
		return
	}
	text, ok := args[0].(*syntax.String)
	if !ok {
		x.open()
		return
	}
	c := findCommand([]byte(text.Value))
	if c == nil || c.isNewer(x.level) {
		return
	}
	x.names = append(x.names, text.Value)
	x.reads = x.reads && !c.writes()
	x.publishes = x.publishes || c.Flags&spec.Reaches != 0
	words, exact := len(args), true
	switch args[words-1].(type) {
	case *syntax.CallExpr, *syntax.Vararg:
		words, exact = words-1, false
	}
	x.declared = x.declared && c.Flags&spec.AllKeys == 0 && c.Keys.Count == 0 // the number of keys is seldom a constant
	x.declared = x.declared && (c.Keys.Once == 0 || x.declaresID(args))
	last := c.Keys.Last
	if last < 0 {
		last += words
		x.declared = x.declared && exact
	}
	for i := c.Keys.First; i > 0 && i <= last; i += c.Keys.Step {
		if i < words {
			x.declared = x.declared && x.isKey(args[i])
		} else if !exact {
			x.declared = false
		}
	}
}

// declaresID reports whether the id of an option ONCE is a declared key. If the word ONCE is not a
// constant, the option is examined when the script runs.
func (x *examiner) declaresID(args []syntax.Expr) bool {
	for i := 1; i < len(args); i++ {
		text, ok := args[i-1].(*syntax.String)
		if ok && strings.EqualFold(text.Value, "ONCE") && x.level >= spec.OnceLevel && !x.isKey(args[i]) {
			return false
		}
	}
	return true
}

// isKey reports whether an expression is a declared key.
func (x *examiner) isKey(e syntax.Expr) bool {
	l, ok := e.(*syntax.LocalExpr)
	return x.isElementOfKeys(e) || ok && x.keys[l.Local]
}

func (x *examiner) isElementOfKeys(e syntax.Expr) bool {
	i, ok := e.(*syntax.IndexExpr)
	return ok && x.isKeys(i.Object)
}

// isKeys reports whether an expression is the table of the declared keys.
func (x *examiner) isKeys(e syntax.Expr) bool {
	l, ok := e.(*syntax.LocalExpr)
	return isGlobal(e, "KEYS") || ok && x.tables[l.Local]
}

func isGlobal(e syntax.Expr, name string) bool {
	g, ok := e.(*syntax.GlobalExpr)
	return ok && g.Name == name
}

// isAPI reports whether name is a global variable that holds the API table in calls of this level.
func isAPI(name string, level uint8) bool {
	return name == redisTable || name == valkeyTable && level >= namesLevel
}

// fieldOfRedis returns the name of the field if an expression is a field of the API table in calls
// of this level.
func fieldOfRedis(e syntax.Expr, level uint8) (name string, ok bool) {
	i, ok := e.(*syntax.IndexExpr)
	if !ok {
		return "", false
	}
	if g, ok := i.Object.(*syntax.GlobalExpr); !ok || !isAPI(g.Name, level) {
		return "", false
	}
	key, ok := i.Key.(*syntax.String)
	if !ok {
		return "", false
	}
	return key.Value, true
}

func isCall(field string) bool { return field == "call" || field == "pcall" }
