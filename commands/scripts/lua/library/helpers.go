package library

import (
	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/value"
)

// table adds a global table of functions.
func table(env *lua.Env, name string, functions ...*lua.Function) *value.Table {
	t := env.NewTable()
	env.Register(t, functions...)
	env.Set(name, value.OfTable(t))
	return t
}

// one makes a function of a result, and many a function of any number of results.
func one(name string, f func(*lua.State, []value.Value) value.Value) *lua.Function {
	return &lua.Function{Name: name, One: f}
}

func many(name string, f func(*lua.State, []value.Value) []value.Value) *lua.Function {
	return &lua.Function{Name: name, Many: f}
}

// finish makes a string of a buffer of the state, and gives that back.
func finish(st *lua.State, buffer []byte) value.Value {
	v := st.NewString(buffer)
	st.Release(buffer)
	return v
}

// function returns an argument that must be a function.
func function(st *lua.State, args []value.Value, i int) value.Value {
	if i >= len(args) || args[i].Kind() != value.FunctionKind {
		st.TypeError(args, i, "function")
	}
	return args[i]
}

// maxStack is the number of values that a function of C may have on its stack.
const maxStack = 8000

// firstOf returns the first of some values, or nil.
func firstOf(values []value.Value) value.Value {
	if len(values) == 0 {
		return value.Nil
	}
	return values[0]
}

// prepaid charges the memory of a text that is about to be copied into an error, see
// State.PrepayMemory.
func prepaid(st *lua.State, text []byte) []byte {
	st.PrepayMemory(len(text))
	return text
}

// cString returns the bytes before the first 0, as C sees a string.
func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
