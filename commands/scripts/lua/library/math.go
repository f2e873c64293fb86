package library

import (
	"math"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/elementary"
	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/value"
)

// unaries are the functions of a number. invalid is the result outside of the domain. native is
// the function for Native runs; nil: f.
var unaries = []struct {
	name      string
	f, native func(x float64) float64
	invalid   float64
}{
	{"sin", elementary.Sin, math.Sin, number.Invalid},
	{"cos", elementary.Cos, math.Cos, number.Invalid},
	{"tan", elementary.Tan, math.Tan, number.Invalid},
	{"asin", elementary.Asin, math.Asin, number.InvalidPositive},
	{"acos", elementary.Acos, math.Acos, number.InvalidPositive},
	{"atan", elementary.Atan, math.Atan, number.Invalid},
	{"sinh", elementary.Sinh, math.Sinh, number.Invalid},
	{"cosh", elementary.Cosh, math.Cosh, number.Invalid},
	{"tanh", elementary.Tanh, math.Tanh, number.Invalid},
	{"ceil", math.Ceil, nil, number.Invalid},
	{"floor", math.Floor, nil, number.Invalid},
	{"sqrt", math.Sqrt, nil, number.Invalid},
	{"exp", elementary.Exp, math.Exp, number.Invalid},
	{"log", elementary.Log, number.NativeLog, number.Invalid},
	{"log10", elementary.Log10, number.NativeLog10, number.InvalidPositive},
	{"deg", func(x float64) float64 { return x / (math.Pi / 180) }, nil, number.Invalid},
	{"rad", func(x float64) float64 { return float64(x * (math.Pi / 180)) }, nil, number.Invalid},
}

func openMath(env *lua.Env) {
	t := table(env, "math",
		one("fmod", remainder), one("mod", remainder),
		one("pow", binary((*lua.State).Pow)), one("atan2", binary(arctangent)),
		one("max", extreme(func(a, b float64) bool { return a > b })),
		one("min", extreme(func(a, b float64) bool { return a < b })),
		one("ldexp", func(st *lua.State, args []value.Value) value.Value {
			exponent := st.Int32(args, 1)
			return value.Number(math.Ldexp(st.Number(args, 0), exponent))
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
	for _, row := range unaries {
		env.Register(t, unary(row.name, number.Unary(row.f, row.invalid), nativeOf(row.native, row.invalid)))
	}
	env.Register(t, one("abs",
		func(st *lua.State, args []value.Value) value.Value { return value.Number(math.Abs(st.Number(args, 0))) }))
	env.SetField(t, "pi", value.Number(math.Pi))
	env.SetField(t, "huge", value.Number(math.Inf(1)))
}

func nativeOf(f func(x float64) float64, invalid float64) func(x float64) float64 {
	if f == nil {
		return nil
	}
	return number.Unary(f, invalid)
}

// unary returns a library function for f. Native runs use native instead, unless it is nil.
func unary(name string, f, native func(x float64) float64) *lua.Function {
	call := func(st *lua.State, x float64) value.Value {
		if native != nil && st.IsNative() {
			return value.Number(native(x))
		}
		return value.Number(f(x))
	}
	g := one(name, func(st *lua.State, args []value.Value) value.Value { return call(st, st.Number(args, 0)) })
	g.Unary = func(st *lua.State, v value.Value) (value.Value, bool) {
		if !v.IsNumber() {
			return v, false
		}
		return call(st, v.Float()), true
	}
	return g
}

// arctangent is atan2.
func arctangent(st *lua.State, y, x float64) float64 {
	if st.IsNative() {
		return nativeArctangent(y, x)
	}
	return portableArctangent(y, x)
}

var (
	portableArctangent = number.Binary(elementary.Atan2)
	nativeArctangent   = number.Binary(math.Atan2)
)

// binary makes a function of two numbers. The second is checked first, as in Redis, where
// a compiler of C chose that.
func binary(f func(st *lua.State, a, b float64) float64) func(*lua.State, []value.Value) value.Value {
	return func(st *lua.State, args []value.Value) value.Value {
		b := st.Number(args, 1)
		return value.Number(f(st, st.Number(args, 0), b))
	}
}

// remainder is fmod. Go computes it bit by bit of the difference of the exponents.
func remainder(st *lua.State, args []value.Value) value.Value {
	b := st.Number(args, 1)
	a := st.Number(args, 0)
	_, high := math.Frexp(a)
	_, low := math.Frexp(b)
	st.Charge(max(0, high-low) / 4)
	return value.Number(fmod(a, b))
}

var fmod = number.Binary(math.Mod)

// extreme makes a function of any number of numbers that returns the best.
func extreme(better func(a, b float64) bool) func(*lua.State, []value.Value) value.Value {
	return func(st *lua.State, args []value.Value) value.Value {
		if len(args) == 2 && args[0].IsNumber() && args[1].IsNumber() { // most calls
			if better(args[1].Float(), args[0].Float()) {
				return args[1]
			}
			return args[0]
		}
		best := st.Number(args, 0)
		for i := 1; i < len(args); i++ {
			if x := st.Number(args, i); better(x, best) {
				best = x
			}
		}
		return value.Number(best)
	}
}

// quiet is the bit of a NaN that operations set.
const quiet = 1 << 51

func modf(st *lua.State, args []value.Value) []value.Value {
	x := st.Number(args, 0)
	whole, fraction := math.Modf(x)
	switch {
	case math.IsInf(x, 0):
		whole, fraction = x, math.Copysign(0, x)
	case x != x:
		whole = math.Float64frombits(math.Float64bits(x) | quiet) // not all processors set it
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
