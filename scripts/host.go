package scripts

import (
	"crypto/sha1"
	"encoding/hex"
	"sync"

	"limitsrv/lua"
	"limitsrv/lua/bitops"
	"limitsrv/lua/cjson"
	"limitsrv/lua/cstruct"
	"limitsrv/lua/library"
	"limitsrv/lua/value"
)

// A hostEnv is the environment of all scripts.
type hostEnv struct {
	env        *lua.Env
	keys, argv int // variables
}

// host returns the environment, which is made once.
var host = sync.OnceValue(func() *hostEnv {
	h := &hostEnv{env: lua.NewEnv(lua.Texts{
		MissingGlobal: "Script attempted to access nonexistent global variable '%s'",
		ReadOnly:      "Attempt to modify a readonly table",
		Limits: [lua.CallLimit + 1]string{
			lua.StepLimit:   "script takes more than %d steps (--script-steps)",
			lua.MemoryLimit: "script takes more than %d bytes of memory",
		},
	})}
	library.Open(h.env, library.Options{ErrorField: "err"})
	bitops.Open(h.env)
	cjson.Open(h.env)
	cstruct.Open(h.env)
	h.openRedis()
	h.keys, h.argv = h.env.Variable("KEYS"), h.env.Variable("ARGV")
	h.env.Freeze()
	return h
})

// The version that scripts see, as INFO shows it.
const (
	redisVersion       = "7.2.4"
	redisVersionNumber = 7<<16 | 2<<8 | 4
)

// openRedis adds the table redis.
func (h *hostEnv) openRedis() {
	t := h.env.NewTable()
	h.env.Register(t,
		callFunction("call", true), callFunction("pcall", false),
		one("error_reply", errorReply), one("status_reply", statusReply), one("sha1hex", sha1Hex),
		none("log", checkLog), none("setresp", setProtocol), none("set_repl", checkReplication), none("debug", nil),
		one("replicate_commands", func(*lua.State, []value.Value) value.Value { return value.True }),
		one("breakpoint", func(*lua.State, []value.Value) value.Value { return value.False }),
		one("acl_check_cmd", checkCommand),
	)
	for _, constant := range []struct {
		name string
		n    float64
	}{
		{"LOG_DEBUG", 0}, {"LOG_VERBOSE", 1}, {"LOG_NOTICE", 2}, {"LOG_WARNING", 3},
		{"REPL_NONE", 0}, {"REPL_AOF", 1}, {"REPL_SLAVE", 2}, {"REPL_REPLICA", 2}, {"REPL_ALL", 3},
		{"REDIS_VERSION_NUM", redisVersionNumber},
	} {
		h.env.SetField(t, constant.name, value.Number(constant.n))
	}
	h.env.SetField(t, "REDIS_VERSION", value.OfString(value.NewString(redisVersion)))
	h.env.Set("redis", value.OfTable(t))
}

func one(name string, f func(*lua.State, []value.Value) value.Value) *lua.Function {
	return &lua.Function{Name: name, One: f}
}

// none makes a function without results; f may be nil.
func none(name string, f func(*lua.State, []value.Value)) *lua.Function {
	return &lua.Function{Name: name, Many: func(st *lua.State, args []value.Value) []value.Value {
		if f != nil {
			f(st, args)
		}
		return nil
	}}
}

// onlyString returns the argument of a function that takes one string, or an error table.
func onlyString(st *lua.State, args []value.Value) (s *value.String, wrong value.Value) {
	if len(args) == 1 {
		if s, ok := args[0].String(); ok {
			return s, value.Nil
		}
	}
	return nil, errorTable(st, "ERR wrong number or type of arguments")
}

func errorReply(st *lua.State, args []value.Value) value.Value {
	s, wrong := onlyString(st, args)
	if s == nil {
		return wrong
	}
	return errorTable(st, codeFirst(cString(s.Bytes())))
}

func statusReply(st *lua.State, args []value.Value) value.Value {
	s, wrong := onlyString(st, args)
	if s == nil {
		return wrong
	}
	t := st.Heap.NewTable(0, 1)
	t.Set(st.Heap, okKey, value.OfString(s))
	return value.OfTable(t)
}

func sha1Hex(st *lua.State, args []value.Value) value.Value {
	if len(args) != 1 {
		raise(st, "ERR wrong number of arguments")
	}
	var text []byte
	if s, ok := st.ToString(args[0]); ok {
		text = s.Bytes()
	}
	st.Charge(len(text) / 16)
	sum := sha1.Sum(text)
	var out [2 * sha1.Size]byte
	hex.Encode(out[:], sum[:])
	return st.NewString(out[:])
}

func checkLog(st *lua.State, args []value.Value) {
	switch {
	case len(args) < 2:
		raise(st, "ERR redis.log() requires two arguments or more.")
	case !isNumber(args[0]):
		raise(st, "ERR First argument must be a number (log level).")
	}
	if level := st.Int32(args, 0); level < 0 || level > 3 {
		raise(st, "ERR Invalid debug level.")
	}
}

// isNumber reports whether a value is a number, or a string that looks like one.
func isNumber(v value.Value) bool {
	_, ok := v.ToNumber()
	return ok
}

func setProtocol(st *lua.State, args []value.Value) {
	if len(args) != 1 {
		raise(st, "ERR redis.setresp() requires one argument.")
	}
	version := 0
	if isNumber(args[0]) {
		version = st.Int32(args, 0)
	}
	if version != 2 && version != 3 {
		raise(st, "ERR RESP version must be 2 or 3.")
	}
	machineOf(st).setProtocol(version)
}

func checkReplication(st *lua.State, args []value.Value) {
	if len(args) != 1 {
		raise(st, "ERR redis.set_repl() requires two arguments.")
	}
	flags := 0
	if isNumber(args[0]) {
		flags = st.Int32(args, 0)
	}
	if flags&^3 != 0 {
		raise(st, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
}
