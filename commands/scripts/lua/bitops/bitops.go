// Package bitops has the library bit of Redis' scripts: operations on 32 bits.
package bitops

import (
	"math"
	"math/bits"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/value"
)

// Open adds the global table bit.
func Open(env *lua.Env) {
	t := env.NewTable()
	one := func(name string, f func(x uint32) uint32) *lua.Function {
		return &lua.Function{Name: name,
			One: func(st *lua.State, args []value.Value) value.Value { return result(f(word(st, args, 0))) }}
	}
	fold := func(name string, f func(x, y uint32) uint32) *lua.Function {
		return &lua.Function{Name: name, One: func(st *lua.State, args []value.Value) value.Value {
			x := word(st, args, 0)
			for i := len(args) - 1; i > 0; i-- {
				x = f(x, word(st, args, i))
			}
			return result(x)
		}}
	}
	shift := func(name string, f func(x uint32, n int) uint32) *lua.Function {
		return &lua.Function{Name: name, One: func(st *lua.State, args []value.Value) value.Value {
			x := word(st, args, 0)
			return result(f(x, int(word(st, args, 1)&31)))
		}}
	}
	env.Register(t,
		one("tobit", func(x uint32) uint32 { return x }), one("bnot", func(x uint32) uint32 { return ^x }),
		one("bswap", bits.ReverseBytes32),
		fold("band", func(x, y uint32) uint32 { return x & y }), fold("bor", func(x, y uint32) uint32 { return x | y }),
		fold("bxor", func(x, y uint32) uint32 { return x ^ y }),
		shift("lshift", func(x uint32, n int) uint32 { return x << n }),
		shift("rshift", func(x uint32, n int) uint32 { return x >> n }),
		shift("arshift", func(x uint32, n int) uint32 { return uint32(int32(x) >> n) }),
		shift("rol", bits.RotateLeft32), shift("ror", func(x uint32, n int) uint32 { return bits.RotateLeft32(x, -n) }),
		&lua.Function{Name: "tohex", One: toHex},
	)
	env.Set("bit", value.OfTable(t))
}

// magic moves the integer nearest to a number to the low bits of its representation.
const magic = 1<<52 + 1<<51

// word returns an argument as 32 bits: rounded to even, modulo 2^32.
func word(st *lua.State, args []value.Value, i int) uint32 {
	return uint32(math.Float64bits(st.Number(args, i) + magic))
}

func result(x uint32) value.Value { return value.Number(float64(int32(x))) }

// toHex writes the lowest digits: 8, or as many as the second argument says, in capitals
// if that is negative.
func toHex(st *lua.State, args []value.Value) value.Value {
	x, n := word(st, args, 0), 8
	digits := "0123456789abcdef"
	if len(args) > 1 {
		if n = int(int32(word(st, args, 1))); n < 0 {
			n = -n
			digits = "0123456789ABCDEF"
		}
	}
	n = min(n, 8)
	var text [8]byte
	for i := n - 1; i >= 0; i-- {
		text[i] = digits[x&15]
		x >>= 4
	}
	return st.NewString(text[:n])
}
