// Package library has the functions of Lua 5.1 that Redis offers to scripts: the global
// functions, and the functions of string, table, math and coroutine. print, dofile,
// loadfile, require, setfenv, getfenv, newproxy, io, os, package and debug are missing, as
// in Redis.
package library

import (
	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/value"
)

// Options are the differences to Lua 5.1.
type Options struct {
	// ErrorField, if not empty, is a field of error tables: pcall returns its value in place
	// of a table that has it as a string.
	ErrorField string
}

// Open adds the library to an environment.
func Open(env *lua.Env, options Options) {
	openBase(env, options)
	openString(env)
	openTable(env)
	openMath(env)
	openCoroutine(env)
}

// openCoroutine adds functions that raise an error: a run of a script cannot be
// suspended, since its functions are functions of Go.
func openCoroutine(env *lua.Env) {
	refuse := func(st *lua.State, _ []value.Value) value.Value {
		st.Errorf("coroutines are not supported")
		return value.Nil
	}
	table(env, "coroutine", one("create", refuse), one("resume", refuse), one("status", refuse), one("wrap", refuse),
		one("yield", refuse),
		many("running", func(*lua.State, []value.Value) []value.Value { return nil }))
}
