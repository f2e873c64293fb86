package scripts

import "limitsrv/commands/scripts/lua/syntax"

// keyTables returns the variables of a library that are the table of the keys of a function,
// and only that: the first parameters of functions that are nothing else than arguments of
// redis.register_function.
func keyTables(main *syntax.Function) map[*syntax.Local]bool {
	x := &callbacks{
		named: make(map[*syntax.Local]*syntax.Function), uses: make(map[*syntax.Local]int),
		registered: make(map[*syntax.Local]int),
		tables:     make(map[*syntax.Local]bool),
	}
	w := walker{statement: x.statement, expr: x.expr}
	w.block(main.Body)
	for local, fn := range x.named {
		if n := x.registered[local]; n > 0 && n == x.uses[local] && !local.Captured {
			x.add(fn)
		}
	}
	return x.tables
}

// callbacks are the functions that a library registers, as far as its text says so.
type callbacks struct {
	named      map[*syntax.Local]*syntax.Function
	uses       map[*syntax.Local]int // of variables, by their own function
	registered map[*syntax.Local]int // of these as callbacks
	tables     map[*syntax.Local]bool
}

// add notes a function that is a callback and nothing else.
func (x *callbacks) add(fn *syntax.Function) {
	if len(fn.Params) > 0 && !fn.Params[0].Captured {
		x.tables[fn.Params[0]] = true
	}
}

// statement looks for functions with a name.
func (x *callbacks) statement(s syntax.Statement) {
	switch s := s.(type) {
	case *syntax.LocalFunction:
		x.named[s.Local] = s.Function
	case *syntax.LocalStatement:
		for i, local := range s.Locals {
			if i < len(s.Values) {
				if fn, ok := s.Values[i].(*syntax.FunctionExpr); ok {
					x.named[local] = fn.Function
				}
			}
		}
	}
}

// expr counts the uses of variables, and looks for callbacks.
func (x *callbacks) expr(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.LocalExpr:
		x.uses[e.Local]++
	case *syntax.CallExpr:
		if field, ok := fieldOfRedis(e.Callee, newest); !ok || e.Method != "" || field != "register_function" {
			break
		}
		switch callback := callbackOf(e.Args).(type) {
		case *syntax.LocalExpr:
			x.registered[callback.Local]++
		case *syntax.FunctionExpr:
			x.add(callback.Function)
		}
	}
	return true
}

// callbackOf returns the callback among the arguments of redis.register_function, or nil.
func callbackOf(args []syntax.Expr) syntax.Expr {
	switch len(args) {
	case 1:
		t, _ := args[0].(*syntax.TableExpr)
		if t == nil {
			return nil
		}
		for _, field := range t.Fields {
			if key, ok := field.Key.(*syntax.String); ok && key.Value == "callback" {
				return field.Value
			}
		}
	case 2:
		return args[1]
	}
	return nil
}
