// Package cjson has the library cjson of Redis' scripts: JSON with the texts and limits
// of version 2.1.0. Settings that a script changes hold until the end of its run, because
// runs must not depend on each other; in Redis they stay.
package cjson

import (
	"fmt"
	"math"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/value"
)

// A mode is how numbers that JSON does not have are treated.
type mode int

const (
	refuse mode = iota
	accept
	asNull
)

// A config is the settings of a copy of the library.
type config struct {
	sparseConvert            bool
	sparseRatio, sparseSafe  int
	encodeDepth, decodeDepth int
	precision                int
	keepBuffer               bool
	encodeInvalid            mode
	decodeInvalid            bool
}

var defaults = config{
	sparseRatio: 2, sparseSafe: 10, encodeDepth: 1000, decodeDepth: 1000, precision: 14, keepBuffer: true,
	decodeInvalid: true,
}

// A shared is the settings of a state's run.
type shared struct {
	config
	run uint64
}

// settings returns the settings of the run.
func settings(st *lua.State) *config {
	slot := st.Data(lua.JSONSlot)
	s, ok := (*slot).(*shared)
	if !ok {
		s = &shared{}
		*slot = s
	}
	if s.run != st.Runs() {
		*s = shared{defaults, st.Runs()}
	}
	return &s.config
}

// Open adds the global table cjson.
func Open(env *lua.Env) {
	t := env.NewTable()
	env.Register(t, functions(settings)...)
	for _, f := range fields {
		env.SetField(t, f.name, f.value)
	}
	env.Set("cjson", value.OfTable(t))
}

// fields are the fields that are no functions.
var fields = []struct {
	name  string
	value value.Value
}{
	{"null", value.Null},
	{"_NAME", value.OfString(value.NewString("cjson"))},
	{"_VERSION", value.OfString(value.NewString("2.1.0"))},
}

// maxStack is the number of values that a function of C may have on its stack: it bounds
// the depth besides the settings. An array takes a place a level, an object two.
const maxStack = 8000 - 4

// functions returns the functions of a library, with settings by a call of settingsOf.
func functions(settingsOf func(*lua.State) *config) []*lua.Function {
	one := func(name string, f func(*lua.State, *config, []value.Value) value.Value) *lua.Function {
		return &lua.Function{Name: name,
			One: func(st *lua.State, args []value.Value) value.Value { return f(st, settingsOf(st), args) }}
	}
	return []*lua.Function{
		one("encode", encode), one("decode", decode), one("new", newCopy),
		{Name: "encode_sparse_array",
			Many: func(st *lua.State, args []value.Value) []value.Value { return sparseArray(st, settingsOf(st), args) }},
		one("encode_max_depth", func(st *lua.State, c *config, args []value.Value) value.Value {
			return integer(st, args, &c.encodeDepth, 1, math.MaxInt32)
		}),
		one("decode_max_depth", func(st *lua.State, c *config, args []value.Value) value.Value {
			return integer(st, args, &c.decodeDepth, 1, math.MaxInt32)
		}),
		one("encode_number_precision", func(st *lua.State, c *config, args []value.Value) value.Value {
			return integer(st, args, &c.precision, 1, 14)
		}),
		one("encode_keep_buffer", func(st *lua.State, c *config, args []value.Value) value.Value {
			atMost(st, args, 1)
			flag(st, args, 0, &c.keepBuffer)
			return value.Bool(c.keepBuffer)
		}),
		one("encode_invalid_numbers", func(st *lua.State, c *config, args []value.Value) value.Value {
			atMost(st, args, 1)
			return invalidNumbers(st, c, args)
		}),
		one("decode_invalid_numbers", func(st *lua.State, c *config, args []value.Value) value.Value {
			atMost(st, args, 1)
			flag(st, args, 0, &c.decodeInvalid)
			return value.Bool(c.decodeInvalid)
		}),
	}
}

// newCopy makes a table with settings of its own.
func newCopy(st *lua.State, _ *config, _ []value.Value) value.Value {
	own := defaults
	t := st.Heap.NewTable(0, 16)
	for _, f := range functions(func(*lua.State) *config { return &own }) {
		name := st.NewText(f.Name)
		t.Set(st.Heap, name, st.NewFunction(f))
	}
	for _, f := range fields {
		t.Set(st.Heap, st.NewText(f.name), f.value)
	}
	return value.OfTable(t)
}

// atMost checks the number of arguments of a setting.
func atMost(st *lua.State, args []value.Value, most int) {
	if len(args) > most {
		st.ArgError(most, "found too many arguments")
	}
}

// integer changes a setting, unless there is no argument, and returns it.
func integer(st *lua.State, args []value.Value, setting *int, least, most int) value.Value {
	atMost(st, args, 1)
	setInteger(st, args, 0, setting, least, most)
	return value.Number(float64(*setting))
}

func setInteger(st *lua.State, args []value.Value, i int, setting *int, least, most int) {
	if lua.IsMissing(args, i) {
		return
	}
	n := st.Int(args, i)
	if n < int64(least) || n > int64(most) {
		st.ArgError(i, fmt.Sprintf("expected integer between %d and %d", least, most))
	}
	*setting = int(n)
}

// flag changes a setting of on and off.
func flag(st *lua.State, args []value.Value, i int, setting *bool) {
	if !lua.IsMissing(args, i) {
		*setting = option(st, args, i, "off", "on") == 1
	}
}

// option returns the index of an argument among options. true is 1 and false 0.
func option(st *lua.State, args []value.Value, i int, options ...string) int {
	if args[i].Kind() == value.BooleanKind {
		if args[i].Truth() {
			return 1
		}
		return 0
	}
	given := st.Text(args, i)
	st.PrepayMemory(len(given))
	text := string(given)
	for at, name := range options {
		if text == name {
			return at
		}
	}
	st.ArgError(i, fmt.Sprintf("invalid option '%s'", text))
	return 0
}

func invalidNumbers(st *lua.State, c *config, args []value.Value) value.Value {
	if !lua.IsMissing(args, 0) {
		c.encodeInvalid = mode(option(st, args, 0, "off", "on", "null"))
	}
	if c.encodeInvalid == asNull {
		return st.NewText("null")
	}
	return value.Bool(c.encodeInvalid == accept)
}

func sparseArray(st *lua.State, c *config, args []value.Value) []value.Value {
	atMost(st, args, 3)
	flag(st, args, 0, &c.sparseConvert)
	setInteger(st, args, 1, &c.sparseRatio, 0, math.MaxInt32)
	setInteger(st, args, 2, &c.sparseSafe, 0, math.MaxInt32)
	return st.Results(value.Bool(c.sparseConvert), value.Number(float64(c.sparseRatio)),
		value.Number(float64(c.sparseSafe)))
}
