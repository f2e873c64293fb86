package scripts

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/bitops"
	"limitsrv/commands/scripts/lua/cjson"
	"limitsrv/commands/scripts/lua/cstruct"
	"limitsrv/commands/scripts/lua/library"
	"limitsrv/commands/scripts/lua/value"
)

// A hostEnv is the environment of all scripts, or of all functions.
type hostEnv struct {
	env        *lua.Env
	outer      *lua.Env // of the code of libraries outside of functions
	keys, argv int      // variables of scripts
}

// host returns the environment of scripts, which is made once.
var host = sync.OnceValue(func() *hostEnv {
	h := newHost(
		none("debug", nil),
		one("replicate_commands", func(*lua.State, []value.Value) value.Value { return value.True }),
		one("breakpoint", func(*lua.State, []value.Value) value.Value { return value.False }),
	)
	h.keys, h.argv = h.env.Variable("KEYS"), h.env.Variable("ARGV")
	h.env.Freeze()
	return h
})

// libraryHost returns the environment of functions, which is made once.
var libraryHost = sync.OnceValue(func() *hostEnv {
	h := newHost(none("register_function", registerFunction)) // for functions that run outside of other functions
	h.outer = lua.NewEnv(texts)
	t := h.outer.NewTable()
	h.outer.Register(t, none("register_function", registerFunction), none("log", checkLog))
	setConstants(h.outer, t, "LOG_", "REDIS_")
	h.outer.Strict(t)
	setAPI(h.outer, t)
	h.outer.Freeze()
	h.env.Freeze()
	return h
})

// texts are the texts of errors of scripts and functions.
var texts = lua.Texts{
	MissingGlobal: "Script attempted to access nonexistent global variable '%s'",
	ReadOnly:      "Attempt to modify a readonly table",
	Limits: [lua.CallLimit + 1]string{
		lua.StepLimit:   "script takes more than %d steps (--script-steps)",
		lua.MemoryLimit: "script takes more than %d bytes of memory",
	},
}

// newHost returns an environment with all that scripts and functions have in common, and
// more functions in its table redis.
func newHost(more ...*lua.Function) *hostEnv {
	h := &hostEnv{env: lua.NewEnv(texts)}
	library.Open(h.env, library.Options{ErrorField: "err"})
	bitops.Open(h.env)
	cjson.Open(h.env)
	cstruct.Open(h.env)
	h.openRedis(more)
	return h
}

// The version that scripts see. It is the same on all nodes and in replays of old logs.
const (
	redisVersion       = "7.2.4"
	redisVersionNumber = 7<<16 | 2<<8 | 4
)

// openRedis adds the table redis, with more functions.
func (h *hostEnv) openRedis(more []*lua.Function) {
	t := h.env.NewTable()
	h.env.Register(t,
		callFunction("call", true), callFunction("pcall", false),
		one("error_reply", errorReply), one("status_reply", statusReply), one("sha1hex", sha1Hex),
		none("log", checkLog), none("setresp", setProtocol), none("set_repl", checkReplication),
		one("acl_check_cmd", checkCommand),
	)
	h.env.Register(t, more...)
	setConstants(h.env, t, "LOG_", "REPL_", "REDIS_")
	setAPI(h.env, t)
}

// setAPI sets both names of the API table, redis and server, to t.
func setAPI(env *lua.Env, t *value.Table) {
	env.Set(redisTable, value.OfTable(t))
	env.SetNewer(valkeyTable, value.OfTable(t))
}

// setConstants adds constants to a table redis: those with a name that begins with one of the
// prefixes.
func setConstants(env *lua.Env, t *value.Table, prefixes ...string) {
	text := value.OfString(value.NewString(redisVersion))
	for _, constant := range []struct {
		name string
		v    value.Value
	}{
		{"LOG_DEBUG", value.Number(0)}, {"LOG_VERBOSE", value.Number(1)}, {"LOG_NOTICE", value.Number(2)},
		{"LOG_WARNING", value.Number(3)},
		{"REPL_NONE", value.Number(0)}, {"REPL_AOF", value.Number(1)}, {"REPL_SLAVE", value.Number(2)},
		{"REPL_REPLICA", value.Number(2)},
		{"REPL_ALL", value.Number(3)}, {"REDIS_VERSION_NUM", value.Number(redisVersionNumber)}, {"REDIS_VERSION", text},
	} {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(constant.name, prefix) }) {
			env.SetField(t, constant.name, constant.v)
		}
	}
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

// onlyString returns the argument of a function that takes a string, or an error table.
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
	st.PrepayMemory(s.Len())
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
	case !isNumber(st, args[0]):
		raise(st, "ERR First argument must be a number (log level).")
	}
	if level := st.Int32(args, 0); level < 0 || level > 3 {
		raise(st, "ERR Invalid debug level.")
	}
}

// isNumber reports whether a value is a number, or a string that looks like a number.
func isNumber(st *lua.State, v value.Value) bool {
	_, ok := st.LookNumber(v)
	return ok
}

func setProtocol(st *lua.State, args []value.Value) {
	if len(args) != 1 {
		raise(st, "ERR redis.setresp() requires one argument.")
	}
	version := 0
	if isNumber(st, args[0]) {
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
	if isNumber(st, args[0]) {
		flags = st.Int32(args, 0)
	}
	if flags&^3 != 0 {
		raise(st, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
}
