package library

import (
	"math"

	"limitsrv/lua"
	"limitsrv/lua/number"
	"limitsrv/lua/value"
)

// unaries are the functions of one number, with their results outside of the domain.
var unaries = []struct {
	name    string
	f       func(x float64) float64
	invalid float64
}{
	{"sin", math.Sin, number.Invalid},
	{"cos", math.Cos, number.Invalid},
	{"tan", math.Tan, number.Invalid},
	{"asin", math.Asin, number.InvalidPositive},
	{"acos", math.Acos, number.InvalidPositive},
	{"atan", math.Atan, number.Invalid},
	{"sinh", math.Sinh, number.Invalid},
	{"cosh", math.Cosh, number.Invalid},
	{"tanh", math.Tanh, number.Invalid},
	{"ceil", math.Ceil, number.Invalid},
	{"floor", math.Floor, number.Invalid},
	{"sqrt", math.Sqrt, number.Invalid},
	{"exp", math.Exp, number.Invalid},
	{"log", number.Log, number.Invalid},
	{"log10", number.Log10, number.InvalidPositive},
	{"deg", func(x float64) float64 { return x / (math.Pi / 180) }, number.Invalid},
	{"rad", func(x float64) float64 { return float64(x * (math.Pi / 180)) }, number.Invalid},
}

func openMath(env *lua.Env) {
	t := table(env, "math",
		one("fmod", remainder), one("mod", remainder), one("pow", binary(number.Pow)), one("atan2", binary(number.Binary(math.Atan2))),
		one("max", extreme(func(a, b float64) bool { return a > b })), one("min", extreme(func(a, b float64) bool { return a < b })),
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
		f := number.Unary(row.f, row.invalid)
		g := one(row.name, func(st *lua.State, args []value.Value) value.Value { return value.Number(f(st.Number(args, 0))) })
		g.Unary = func(_ *lua.State, v value.Value) (value.Value, bool) {
			if !v.IsNumber() {
				return v, false
			}
			return value.Number(f(v.Float())), true
		}
		env.Register(t, g)
	}
	env.Register(t, one("abs", func(st *lua.State, args []value.Value) value.Value { return value.Number(math.Abs(st.Number(args, 0))) }))
	env.SetField(t, "pi", value.Number(math.Pi))
	env.SetField(t, "huge", value.Number(math.Inf(1)))
}

// binary makes a function of two numbers. The second is checked first, as in Redis, where
// a compiler of C chose that.
func binary(f func(a, b float64) float64) func(*lua.State, []value.Value) value.Value {
	return func(st *lua.State, args []value.Value) value.Value {
		b := st.Number(args, 1)
		return value.Number(f(st.Number(args, 0), b))
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
