package scripts

import (
	"fmt"
	"slices"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/value"
)

// functionFlags are the flags that a function may have.
var functionFlags = []string{"allow-cross-slot-keys", "allow-oom", "allow-stale", noWritesFlag, "no-cluster"}

const noWritesFlag = "no-writes"

// wrongName is Redis' error for the name of a library or function.
const wrongName = "Library names can only contain letters, numbers, or underscores(_) and must be at least one " +
	"character long"

// validName reports whether a library or a function may have a name.
func validName(name string) bool {
	for _, c := range []byte(name) {
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return name != ""
}

// A registration is a function that a machine has registered.
type registration struct {
	name        string
	description string
	described   bool
	flags       []string // in ascending order
	callback    value.Value
}

// functionBytes is the memory that is counted for a function besides its texts. registeredPerStep
// is the number of names that a new name is compared with in a step.
const (
	functionBytes     = 256
	registeredPerStep = 4
)

// size returns the memory that is counted for the function, in bytes.
func (r *registration) size() int {
	n := functionBytes + len(r.name) + len(r.description)
	for _, flag := range r.flags {
		n += len(flag)
	}
	return n
}

// mostRegistered returns the bound of the memory of a library's functions, in bytes, for a text of
// this many bytes. Only the text counts as memory of the state.
func mostRegistered(text int) int { return 4096 + 16*text }

// register runs the code of a library outside of its functions.
func (m *machine) register(chunk *lua.Chunk) error {
	m.registered, m.registeredBytes, m.loading = m.registered[:0], 0, true
	defer func() { m.loading = false }()
	_, err := m.st.Run(chunk)
	return err
}

// registerFunction is redis.register_function.
func registerFunction(st *lua.State, args []value.Value) {
	m := machineOf(st)
	if !m.loading {
		st.Errorf("attempt to call field 'register_function' (a nil value)")
	}
	if m.wanted != "" {
		m.findCallback(args)
		return
	}
	st.Prepay(len(m.registered) / registeredPerStep)
	r, wrong := registrationOf(st, args)
	m.registeredBytes += r.size()
	switch {
	case wrong != "":
	case st.Heap.Prepaid && m.registeredBytes > m.mostRegistered:
		wrong = fmt.Sprintf("the functions of this library would take more than %d bytes", m.mostRegistered)
	case !validName(r.name):
		wrong = wrongName
	case slices.ContainsFunc(m.registered, func(other registration) bool { return other.name == r.name }):
		wrong = "Function already exists in the library"
	}
	if wrong != "" {
		raise(st, "ERR "+wrong)
	}
	m.registered = append(m.registered, r)
}

// findCallback takes the callback of the wanted function from the arguments of
// redis.register_function, which were valid when the library was loaded.
func (m *machine) findCallback(args []value.Value) {
	name, callback := args[0], args[len(args)-1]
	if t, ok := name.Table(); ok {
		name, callback = t.Get(functionNameKey), t.Get(callbackKey)
	}
	if s, ok := m.st.ToString(name); ok && string(s.Bytes()) == m.wanted {
		m.callback = callback
	}
}

// registrationOf reads the arguments of redis.register_function in one of its forms.
func registrationOf(st *lua.State, args []value.Value) (r registration, wrong string) {
	switch len(args) {
	case 1:
		if t, ok := args[0].Table(); ok {
			return namedRegistration(st, t)
		}
		return r, "calling redis.register_function with a single argument is only applicable to Lua table (representing " +
			"named arguments)."
	case 2:
		name, ok := st.ToString(args[0])
		if !ok {
			return r, "first argument to redis.register_function must be a string"
		}
		r.name, r.callback = textOf(st, name), args[1]
		if args[1].Kind() != value.FunctionKind {
			return r, "second argument to redis.register_function must be a function"
		}
		return r, ""
	}
	return r, "wrong number of arguments to redis.register_function"
}

// namedRegistration reads the fields of the only argument of redis.register_function.
func namedRegistration(st *lua.State, t *value.Table) (r registration, wrong string) {
	named := false
	st.Prepay(t.Size() / placesPerStep)
	for key, v, at := t.Next(0); !key.IsNil(); key, v, at = t.Next(at) {
		text, isText := st.ToString(v)
		field, _ := key.String()
		switch {
		case field == nil:
			return r, "unknown argument given to redis.register_function"
		case string(field.Bytes()) == "function_name":
			if !isText {
				return r, "function_name argument given to redis.register_function must be a string"
			}
			r.name, named = textOf(st, text), true
		case string(field.Bytes()) == "description":
			if !isText {
				return r, "description argument given to redis.register_function must be a string"
			}
			r.description, r.described = textOf(st, text), true
		case string(field.Bytes()) == "callback":
			if v.Kind() != value.FunctionKind {
				return r, "callback argument given to redis.register_function must be a function"
			}
			r.callback = v
		case string(field.Bytes()) == "flags":
			if r.flags, wrong = flagsOf(st, v); wrong != "" {
				return r, wrong
			}
		default:
			return r, "unknown argument given to redis.register_function"
		}
	}
	switch {
	case !named:
		wrong = "redis.register_function must get a function name argument"
	case r.callback.IsNil():
		wrong = "redis.register_function must get a callback argument"
	}
	return r, wrong
}

// flagBytes is the memory that is counted for each flag while a function is registered.
const flagBytes = 64

// textOf returns a copy of s that a library can keep.
func textOf(st *lua.State, s *value.String) string {
	st.PrepayMemory(s.Len())
	return string(s.Bytes())
}

// flagsOf reads the list of flags of a function.
func flagsOf(st *lua.State, v value.Value) (flags []string, wrong string) {
	t, ok := v.Table()
	if !ok {
		return nil, "flags argument to redis.register_function must be a table representing function flags"
	}
	for i := 1; !t.GetInt(i).IsNil(); i++ {
		st.PrepayMemory(flagBytes)
		s, ok := t.GetInt(i).String()
		if !ok || !slices.Contains(functionFlags, string(s.Bytes())) {
			return nil, "unknown flag given"
		}
		flags = append(flags, string(s.Bytes()))
	}
	slices.Sort(flags)
	return slices.Compact(flags), ""
}
