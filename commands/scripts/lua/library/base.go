package library

import (
	"fmt"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/value"
)

func openBase(env *lua.Env, options Options) {
	next := &lua.Function{Name: "next", Many: next, Loop: lua.LoopNext}
	each := &lua.Function{Name: "ipairs", Many: stepArray, Loop: lua.LoopArray}
	env.Register(nil, next)
	env.Register(env.NewTable(), each) // for its number only
	env.Register(nil,
		many("assert", assert), one("error", raise), one("getmetatable", getMetatable), one("setmetatable", setMetatable),
		many("ipairs", func(st *lua.State, args []value.Value) []value.Value {
			return st.Results(value.OfFunc(each), value.OfTable(st.Table(args, 0)), value.Number(0))
		}),
		many("pairs", func(st *lua.State, args []value.Value) []value.Value {
			return st.Results(value.OfFunc(next), value.OfTable(st.Table(args, 0)), value.Nil)
		}),
		one("rawequal", func(st *lua.State, args []value.Value) value.Value {
			return value.Bool(st.RawEqual(st.Any(args, 0), st.Any(args, 1)))
		}),
		one("rawget", func(st *lua.State, args []value.Value) value.Value {
			return st.RawGet(st.Table(args, 0), st.Any(args, 1))
		}),
		one("rawset", func(st *lua.State, args []value.Value) value.Value {
			t := st.Table(args, 0)
			st.RawSet(t, st.Any(args, 1), st.Any(args, 2))
			return args[0]
		}),
		&lua.Function{Name: "tonumber", One: toNumber, Unary: numberOf}, one("tostring", toString), one("type", typeName),
		many("select", selectArgs), many("unpack", unpack),
		many("pcall", protectedCall(value.NewString(options.ErrorField))), many("xpcall", protectedHandled),
		many("load", load), many("loadstring", loadString),
		one("collectgarbage", collectGarbage),
		one("gcinfo", func(st *lua.State,
			_ []value.Value) value.Value {
			return value.Number(float64(st.Heap.Used() >> 10))
		}),
	)
	env.Set("_VERSION", value.OfString(value.NewString("Lua 5.1")))
}

func assert(st *lua.State, args []value.Value) []value.Value {
	if st.Any(args, 0).Truth() {
		return args
	}
	message := "assertion failed!"
	if !lua.IsMissing(args, 1) {
		message = cString(prepaid(st, st.Text(args, 1)))
	}
	st.Errorf("%s", message)
	return nil
}

func raise(st *lua.State, args []value.Value) value.Value {
	level := st.OptInt32(args, 1, 1)
	if len(args) == 0 {
		st.Raise(value.Nil)
	}
	v := args[0]
	if s, ok := st.ToString(v); ok && level > 0 {
		v = st.NewString(st.Append([]byte(st.Where(level)), s.Bytes()))
	}
	st.Raise(v)
	return value.Nil
}

var (
	metatableKey = value.NewString("__metatable")
	toStringKey  = value.NewString("__tostring")
)

// metaField returns a field of a value's metatable, or nil.
func metaField(st *lua.State, v value.Value, key *value.String) value.Value {
	if meta := st.Metatable(v); meta != nil {
		return meta.GetString(key)
	}
	return value.Nil
}

func getMetatable(st *lua.State, args []value.Value) value.Value {
	v := st.Any(args, 0)
	meta := st.Metatable(v)
	if meta == nil {
		return value.Nil
	}
	if hidden := meta.GetString(metatableKey); !hidden.IsNil() {
		return hidden
	}
	return value.OfTable(meta)
}

func setMetatable(st *lua.State, args []value.Value) value.Value {
	t := st.Table(args, 0)
	var meta *value.Table
	ok := len(args) > 1 && args[1].IsNil()
	if !ok && len(args) > 1 {
		meta, ok = args[1].Table()
	}
	if !ok {
		st.ArgError(1, "nil or table expected")
	}
	if !metaField(st, args[0], metatableKey).IsNil() {
		st.Errorf("cannot change a protected metatable")
	}
	st.CheckWritable(t)
	t.SetMeta(meta)
	return args[0]
}

func next(st *lua.State, args []value.Value) []value.Value {
	t := st.Table(args, 0)
	key := value.Nil
	if len(args) > 1 {
		key = args[1]
	}
	st.PrepayKey(key)
	cursor, ok := t.Cursor(key, 0)
	if !ok {
		st.ErrorText("invalid key to 'next'")
	}
	key, v, end := t.Next(cursor)
	st.Charge((end - cursor) / 16)
	if key.IsNil() {
		return st.Results(value.Nil)
	}
	return st.Results(key, v)
}

// stepArray is the iterator of ipairs.
func stepArray(st *lua.State, args []value.Value) []value.Value {
	i := st.Int32(args, 1) + 1
	v := st.Table(args, 0).GetInt(i)
	if v.IsNil() {
		return nil
	}
	return st.Results(value.Number(float64(i)), v)
}

// numberOf is toNumber with an argument.
func numberOf(st *lua.State, v value.Value) (value.Value, bool) {
	if x, ok := st.ToNumber(v); ok {
		return value.Number(x), true
	}
	return value.Nil, true
}

func toNumber(st *lua.State, args []value.Value) value.Value {
	base := 10
	if len(args) > 1 {
		base = st.OptInt32(args, 1, base)
	}
	if base == 10 {
		if x, ok := st.ToNumber(st.Any(args, 0)); ok {
			return value.Number(x)
		}
		return value.Nil
	}
	text := st.Text(args, 0)
	st.Charge(len(text) / 16)
	st.Prepay(len(text) / 16)
	if base < 2 || base > 36 {
		st.ArgError(1, "base out of range")
	}
	if x, ok := number.ParseBase(text, base); ok {
		return value.Number(x)
	}
	return value.Nil
}

func toString(st *lua.State, args []value.Value) value.Value {
	v := st.Any(args, 0)
	if h := metaField(st, v, toStringKey); !h.IsNil() {
		return st.Call1(h, v)
	}
	if s, ok := st.ToString(v); ok {
		return value.OfString(s)
	}
	st.Charge(stepsToDescribe)
	return st.NewText(describe(v))
}

// stepsToDescribe is the number of steps that count for describe.
const stepsToDescribe = 4

// describe returns the text of a value that is neither a string nor a number.
func describe(v value.Value) string {
	switch v.Kind() {
	case value.NilKind:
		return "nil"
	case value.BooleanKind:
		if v.Truth() {
			return "true"
		}
		return "false"
	case value.NullKind:
		return "userdata: (nil)"
	}
	serial := uint32(0)
	if ref, ok := v.Ref().(interface{ Serial() uint32 }); ok {
		serial = ref.Serial()
	}
	return fmt.Sprintf("%s: 0x%08x", v.Kind(), serial)
}

// typeNames are the results of the function type.
var typeNames = func() (names [value.FunctionKind + 1]value.Value) {
	for k := range names {
		names[k] = value.OfString(value.NewString(value.Kind(k).String()))
	}
	return names
}()

func typeName(st *lua.State, args []value.Value) value.Value {
	return typeNames[st.Any(args, 0).Kind()]
}

func selectArgs(st *lua.State, args []value.Value) []value.Value {
	if len(args) > 0 {
		if s, ok := args[0].String(); ok && s.Len() > 0 && s.Bytes()[0] == '#' {
			return st.Results(value.Number(float64(len(args) - 1)))
		}
	}
	i := st.Int32(args, 0)
	if i < 0 {
		i += len(args)
	} else if i > len(args) {
		i = len(args)
	}
	if i < 1 {
		st.ArgError(0, "index out of range")
	}
	return args[i:]
}

func unpack(st *lua.State, args []value.Value) []value.Value {
	t := st.Table(args, 0)
	from := st.OptInt32(args, 1, 1)
	var to int
	if lua.IsMissing(args, 2) {
		to = t.Len()
	} else {
		to = st.Int32(args, 2)
	}
	if from > to {
		return nil
	}
	n := to - from + 1
	if n+len(args) > maxStack {
		st.Errorf("too many results to unpack")
	}
	st.Charge(n / 8)
	st.Prepay(n / 2)
	results := st.Room(n)
	for i := range results {
		results[i] = t.GetInt(from + i)
	}
	return results
}

// protectedCall makes pcall.
func protectedCall(field *value.String) func(*lua.State, []value.Value) []value.Value {
	return func(st *lua.State, args []value.Value) []value.Value {
		if len(args) == 0 {
			return st.Results(value.False, st.NewText("attempt to call a boolean value"))
		}
		results, failure := st.Protect(args[0], args[1:])
		if failure == nil {
			return st.ResultsWith(value.True, results)
		}
		v := failure.Value
		if _, ok := v.Table(); !ok || field.Len() == 0 {
			return st.Results(value.False, v)
		}
		inner := st.Index(v, value.OfString(field))
		if inner.Kind() == value.StringKind || inner.IsNumber() {
			return st.Results(value.False, inner)
		}
		return st.Results(value.False, v, inner) // as Redis does
	}
}

func protectedHandled(st *lua.State, args []value.Value) []value.Value {
	handler := st.Any(args, 1)
	results, failure := st.Protect(args[0], nil)
	if failure == nil {
		return st.ResultsWith(value.True, results)
	}
	argument := [1]value.Value{failure.Value}
	if results, failure = st.Protect(handler, argument[:]); failure != nil {
		return st.Results(value.False, st.NewText("error in error handling"))
	}
	return st.Results(value.False, firstOf(results))
}

func loadString(st *lua.State, args []value.Value) []value.Value {
	source := st.Text(args, 0)
	name := source
	if !lua.IsMissing(args, 1) {
		name = st.Text(args, 1)
	}
	return compile(st, source, name)
}

// load compiles the strings that a function returns one by one.
func load(st *lua.State, args []value.Value) []value.Value {
	name := []byte("=(load)")
	if !lua.IsMissing(args, 1) {
		name = st.Text(args, 1)
	}
	if len(args) == 0 || args[0].Kind() != value.FunctionKind {
		st.TypeError(args, 0, "function")
	}
	var source []byte
	for {
		piece := firstOf(st.Call(args[0], nil))
		if piece.IsNil() {
			break
		}
		s, ok := st.ToString(piece)
		if !ok {
			return st.Results(value.Nil, st.NewText("reader function must return a string"))
		}
		if s.Len() == 0 {
			break
		}
		st.Heap.Charge(s.Len())
		source = append(source, s.Bytes()...)
	}
	return compile(st, source, name)
}

func compile(st *lua.State, source, name []byte) []value.Value {
	function, err := st.Load(source, name)
	if err != nil {
		return st.Results(value.Nil, st.NewText(err.Error()))
	}
	return st.Results(function)
}

// collectGarbage answers as if there were a collector.
func collectGarbage(st *lua.State, args []value.Value) value.Value {
	option := "collect"
	if !lua.IsMissing(args, 0) {
		option = cString(prepaid(st, st.Text(args, 0)))
	}
	st.OptInt32(args, 1, 0)
	switch option {
	case "count":
		return value.Number(float64(st.Heap.Used()) / 1024)
	case "step":
		return value.False
	case "setpause", "setstepmul":
		return value.Number(200)
	case "collect", "stop", "restart":
		return value.Number(0)
	}
	st.ArgError(0, fmt.Sprintf("invalid option '%s'", option))
	return value.Nil
}
