package lua

import (
	"bytes"
	"fmt"

	"limitsrv/commands/scripts/lua/value"
)

// Texts are the messages that depend on the embedder.
type Texts struct {
	// MissingGlobal is the message for reading a global variable that does not exist, with
	// %s for its name. If it is empty the value is nil.
	MissingGlobal string
	// ReadOnly is the message for changing a frozen table.
	ReadOnly string
	// Limits are the messages of passed limits. %d, if there, is the limit.
	Limits [CallLimit + 1]string
}

// An Env is the global variables of scripts. It is set up once and then frozen: scripts
// cannot change it, and any number of states may use it.
type Env struct {
	texts      Texts
	globals    *value.Table
	newer      []global     // globals that Native runs do not have
	meta       *value.Table // of globals
	stringMeta *value.Table
	variables  []*value.String
	serial     uint32
	frozen     bool
}

// A global is a global variable with its value.
type global struct {
	name *value.String
	v    value.Value
}

// NewEnv returns an environment with no variables except _G.
func NewEnv(texts Texts) *Env {
	env := &Env{texts: texts}
	env.globals = env.NewTable()
	env.Set("_G", value.OfTable(env.globals))
	if texts.MissingGlobal != "" {
		env.meta = env.NewTable()
		env.Register(env.meta, &Function{Name: "__index", One: missingGlobal})
	}
	return env
}

// Strict makes reading a missing field of a table the error of a missing global variable.
// Requires: env is not frozen.
func (env *Env) Strict(t *value.Table) { t.SetMeta(env.meta) }

func missingGlobal(st *State, args []value.Value) value.Value {
	name := "?"
	if len(args) > 1 {
		if s, ok := st.ToString(args[1]); ok {
			st.PrepayMemory(s.Len())
			name = cString(s.Bytes())
		}
	}
	st.Errorf(st.env.texts.MissingGlobal, name)
	return value.Nil
}

// firstSerial is the number of the first table of an environment: tables of runs start at
// 1.
const firstSerial = 1 << 31

func (env *Env) nextSerial() uint32 {
	env.serial++
	return firstSerial + env.serial
}

// NewTable returns a table that Freeze freezes if it can be reached from a variable.
func (env *Env) NewTable() *value.Table { return value.NewTable(env.nextSerial()) }

// Set sets a global variable. Requires: env is not frozen.
func (env *Env) Set(name string, v value.Value) { env.SetField(env.globals, name, v) }

// SetField sets a field of a table of env. Requires: env is not frozen.
func (env *Env) SetField(t *value.Table, name string, v value.Value) {
	if env.frozen {
		panic("lua: a frozen environment is changed")
	}
	t.Set(nil, value.OfString(value.NewString(name)), v)
}

// SetNewer sets a global variable that Native runs do not have. Requires: env is not frozen, and no
// other variable has the name.
func (env *Env) SetNewer(name string, v value.Value) {
	if env.frozen {
		panic("lua: a frozen environment is changed")
	}
	env.newer = append(env.newer, global{value.NewString(name), v})
}

// Global returns the value of a global variable, or nil.
func (env *Env) Global(name string) value.Value {
	if v := env.newerGlobal(name); !v.IsNil() {
		return v
	}
	return env.globals.GetString(value.NewString(name))
}

// newerGlobal returns the value of a variable of SetNewer, or nil.
func (env *Env) newerGlobal(name string) value.Value {
	for i := range env.newer {
		if string(env.newer[i].name.Bytes()) == name {
			return env.newer[i].v
		}
	}
	return value.Nil
}

// Register sets fields of a table to functions, by their names. Table nil means the
// global variables.
func (env *Env) Register(t *value.Table, functions ...*Function) {
	if t == nil {
		t = env.globals
	}
	for _, g := range functions {
		if g.serial == 0 {
			g.serial = env.nextSerial()
		}
		env.SetField(t, g.Name, value.OfFunc(g))
	}
}

// SetStringMeta sets the metatable of strings.
func (env *Env) SetStringMeta(meta *value.Table) { env.stringMeta = meta }

// Variable adds a global variable that each run sets by State.Set, and returns its index
// for that.
func (env *Env) Variable(name string) int {
	env.variables = append(env.variables, value.NewString(name))
	return len(env.variables) - 1
}

// variable returns the index of a variable of runs.
func (env *Env) variable(name string) (int, bool) {
	for i, known := range env.variables {
		if string(known.Bytes()) == name {
			return i, true
		}
	}
	return 0, false
}

// Freeze ends the set-up. It may be called again. Requires: the first call, of Compile and
// NewState too, happens before any other use by another goroutine.
func (env *Env) Freeze() {
	if env.frozen {
		return
	}
	env.frozen = true
	freeze(env.globals)
	freeze(env.meta)
	freeze(env.stringMeta)
	for i := range env.newer {
		if t, ok := env.newer[i].v.Table(); ok {
			freeze(t)
		}
	}
}

// freeze freezes a table and all that can be reached from it.
func freeze(t *value.Table) {
	if t == nil || t.Frozen() {
		return
	}
	t.Freeze()
	freeze(t.Meta())
	for cursor := 0; ; {
		var key, v value.Value
		if key, v, cursor = t.Next(cursor); key.IsNil() {
			return
		}
		if inner, ok := v.Table(); ok {
			freeze(inner)
		}
	}
}

// LimitText returns the message of a passed limit.
func (env *Env) LimitText(limit LimitKind, limits Limits) string {
	text := env.texts.Limits[limit]
	bound := [...]int64{StepLimit: limits.Steps, MemoryLimit: limits.Memory, StringLimit: int64(limits.String),
		CallLimit: int64(limits.Calls)}[limit]
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '%' {
			return fmt.Sprintf(text, bound)
		}
	}
	if text == "" {
		return fmt.Sprintf("limit %d of the script is passed", limit)
	}
	return text
}

// globalTable returns the table of all global variables, including the variables of the
// run. It is made once a run.
func (st *State) globalTable() *value.Table {
	if st.globals != nil {
		return st.globals
	}
	t := st.heap.NewTable(0, 0)
	for cursor := 0; ; {
		var key, v value.Value
		if key, v, cursor = st.env.globals.Next(cursor); key.IsNil() {
			break
		}
		if inner, ok := v.Table(); ok && inner == st.env.globals {
			v = value.OfTable(t)
		}
		t.Set(&st.heap, key, v)
	}
	if !st.limits.Native {
		for i := range st.env.newer {
			t.Set(&st.heap, value.OfString(st.env.newer[i].name), st.env.newer[i].v)
		}
	}
	for i, name := range st.env.variables {
		t.Set(&st.heap, value.OfString(name), st.variable(i))
	}
	t.SetMeta(st.env.meta)
	t.Freeze()
	st.globals = t
	return t
}

// cString returns the bytes before the first zero, as C sees a string.
func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
