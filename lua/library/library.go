// Package library has the functions of Lua 5.1 that Redis offers to scripts: the global
// ones and those of string, table, math and coroutine. print, dofile, loadfile, require,
// setfenv, getfenv, newproxy, io, os, package and debug are missing, as in Redis.
package library

import (
	"math"

	"limitsrv/lua"
	"limitsrv/lua/value"
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

// table adds a global table of functions.
func table(env *lua.Env, name string, functions ...*lua.Function) *value.Table {
	t := env.NewTable()
	env.Register(t, functions...)
	env.Set(name, value.OfTable(t))
	return t
}

// one makes a function of one result, and many one of any number.
func one(name string, f func(*lua.State, []value.Value) value.Value) *lua.Function {
	return &lua.Function{Name: name, One: f}
}

func many(name string, f func(*lua.State, []value.Value) []value.Value) *lua.Function {
	return &lua.Function{Name: name, Many: f}
}

func openMath(env *lua.Env) {
	t := table(env, "math",
		one("fmod", binary(math.Mod)), one("mod", binary(math.Mod)), one("pow", binary(math.Pow)), one("atan2", binary(math.Atan2)),
		one("max", extreme(func(a, b float64) bool { return a > b })), one("min", extreme(func(a, b float64) bool { return a < b })),
		one("ldexp", func(st *lua.State, args []value.Value) value.Value {
			return value.Number(math.Ldexp(st.Number(args, 0), st.Int32(args, 1)))
		}),
		many("frexp", func(st *lua.State, args []value.Value) []value.Value {
			fraction, exponent := math.Frexp(st.Number(args, 0))
			return st.Results(value.Number(fraction), value.Number(float64(exponent)))
		}),
		many("modf", modf), one("random", random),
		many("randomseed", func(st *lua.State, args []value.Value) []value.Value {
			st.Seed(int32(st.Int32(args, 0)))
			return nil
		}),
	)
	for name, f := range map[string]func(float64) float64{
		"abs": math.Abs, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
		"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh, "ceil": math.Ceil, "floor": math.Floor, "sqrt": math.Sqrt,
		"exp": math.Exp, "log": math.Log, "log10": math.Log10,
		"deg": func(x float64) float64 { return x / (math.Pi / 180) },
		"rad": func(x float64) float64 { return x * (math.Pi / 180) },
	} {
		env.Register(t, one(name, func(st *lua.State, args []value.Value) value.Value { return value.Number(f(st.Number(args, 0))) }))
	}
	env.SetField(t, "pi", value.Number(math.Pi))
	env.SetField(t, "huge", value.Number(math.Inf(1)))
}

// binary makes a function of two numbers.
func binary(f func(a, b float64) float64) func(*lua.State, []value.Value) value.Value {
	return func(st *lua.State, args []value.Value) value.Value {
		return value.Number(f(st.Number(args, 0), st.Number(args, 1)))
	}
}

// extreme makes a function of any number of numbers that returns the best.
func extreme(better func(a, b float64) bool) func(*lua.State, []value.Value) value.Value {
	return func(st *lua.State, args []value.Value) value.Value {
		best := st.Number(args, 0)
		for i := 1; i < len(args); i++ {
			if x := st.Number(args, i); better(x, best) {
				best = x
			}
		}
		return value.Number(best)
	}
}

func modf(st *lua.State, args []value.Value) []value.Value {
	x := st.Number(args, 0)
	whole, fraction := math.Modf(x)
	if math.IsInf(x, 0) {
		whole, fraction = x, math.Copysign(0, x)
	}
	return st.Results(value.Number(whole), value.Number(math.Copysign(fraction, x)))
}

// maxRandom is the divisor of random numbers.
const maxRandom = math.MaxInt32

func random(st *lua.State, args []value.Value) value.Value {
	r := float64(st.Random()%maxRandom) / maxRandom
	switch len(args) {
	case 0:
		return value.Number(r)
	case 1:
		most := st.Int32(args, 0)
		if most < 1 {
			st.ArgError(0, "interval is empty")
		}
		return value.Number(math.Floor(float64(r*float64(most))) + 1)
	case 2:
		least, most := st.Int32(args, 0), st.Int32(args, 1)
		if least > most {
			st.ArgError(1, "interval is empty")
		}
		return value.Number(math.Floor(float64(r*float64(int32(most-least+1)))) + float64(least))
	}
	st.Errorf("wrong number of arguments")
	return value.Nil
}

// openCoroutine adds functions that raise an error: a run of a script cannot be
// suspended, since its functions are functions of Go.
func openCoroutine(env *lua.Env) {
	refuse := func(st *lua.State, _ []value.Value) value.Value {
		st.Errorf("coroutines are not supported")
		return value.Nil
	}
	table(env, "coroutine", one("create", refuse), one("resume", refuse), one("status", refuse), one("wrap", refuse), one("yield", refuse),
		many("running", func(*lua.State, []value.Value) []value.Value { return nil }))
}
