package scripts

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/syntax"
	"limitsrv/engine"
)

// A Library is a compiled document of functions. It does not change.
type Library struct {
	name      string
	functions []*Function // in ascending order of their names
	chunk     *lua.Chunk
	uses      uses
	first     uses // for calls of level 1
}

// A Function is a function of a library, as it was registered.
type Function struct {
	Name        string
	description string
	described   bool
	flags       []string // in ascending order
	uses, first uses     // of the library; first is for calls of level 1
	owner       string   // the name of its library
	document    *engine.Document
	longest     atomic.Int64 // steps of a run
}

// Modes returns the modes of a function that runs by FCALL.
func (f *Function) Modes() Modes { return f.uses.modes(f.noWrites()) }

// modesAt returns the Modes for calls of this level.
func (f *Function) modesAt(level uint8) Modes {
	if level == 1 {
		return f.first.modes(f.noWrites())
	}
	return f.Modes()
}

// Names is Script.Names for the library of the function.
func (f *Function) Names() (names []string, constant bool) { return f.uses.names, f.uses.constant }

// Longest returns the steps of the longest run of the function so far, 0 if it has not run.
func (f *Function) Longest() int64 { return f.longest.Load() }

func (f *Function) noWrites() bool { return slices.Contains(f.flags, noWritesFlag) }

// Errors of libraries, as Redis has them.
const (
	noFunctions  = "ERR No functions registered"
	wrongCompile = "ERR Error compiling function: "
	wrongLoad    = "ERR Error registering functions: "
)

// functionChunk is the name of libraries in errors.
const functionChunk = "@user_function"

// loadSteps is the budget of the code of a library outside of its functions. Being the same for
// all calls, it makes a library valid on all nodes or on no node.
const loadSteps = 100_000

// CompileLibrary compiles the text of a library, and runs its code outside of functions, which
// registers them. With prepaid, work and memory are charged before they are spent, as in a prepaid
// call. With native, the code runs as in a call of level 1. wrong is Redis' error if the text is
// invalid. Cost: linear in the text, and up to loadSteps.
func CompileLibrary(text []byte, prepaid, native bool) (l *Library, wrong string) {
	name, body, wrong := parseLibrary(text)
	if wrong != "" {
		return nil, wrong
	}
	l = &Library{name: name}
	h := libraryHost()
	var err error
	var tree *syntax.Function
	if l.chunk, tree, err = lua.CompileWithin(h.outer, h.env, body, functionChunk); err != nil {
		return nil, oneLine([]byte(wrongCompile + err.Error()))
	}
	m := libraryMachines.Get().(*machine)
	defer libraryMachines.Put(m)
	defer m.forget()
	m.st.Reset(lua.Limits{Steps: loadSteps, Memory: maxMemory, Prepaid: prepaid, Native: native})
	m.mostRegistered = mostRegistered(len(text))
	if err := m.register(l.chunk); err != nil {
		return nil, oneLine([]byte(wrongLoad + m.loadError(err.(*lua.Error))))
	}
	if len(m.registered) == 0 {
		return nil, noFunctions
	}
	tables := keyTables(tree)
	l.uses, l.first = usesOf(tree, tables, newest), usesOf(tree, tables, 1)
	for i := range m.registered {
		r := &m.registered[i]
		l.functions = append(l.functions, &Function{
			Name: r.name, description: r.description, described: r.described, flags: r.flags, uses: l.uses, first: l.first,
			owner: name,
		})
	}
	slices.SortFunc(l.functions, func(a, b *Function) int { return cmp.Compare(a.Name, b.Name) })
	return l, ""
}

// loadError returns the text of an error of the code outside of functions.
func (m *machine) loadError(e *lua.Error) string {
	if e.Limit == lua.StepLimit {
		return fmt.Sprintf("ERR a library takes more than %d steps to load", loadSteps)
	}
	text, _, _ := m.errorOf(e)
	return text
}

// parseLibrary parses the first line of a library, such as #!lua name=x. body is the rest,
// with the end of that line.
func parseLibrary(text []byte) (name string, body []byte, wrong string) {
	if !bytes.HasPrefix(text, []byte("#!")) {
		return "", nil, "ERR Missing library metadata"
	}
	line, _, ended := bytes.Cut(text, []byte("\n"))
	words := strings.Fields(string(line))
	if !ended || bytes.ContainsAny(line, "\"'") {
		return "", nil, "ERR Invalid library metadata"
	}
	named := false
	for _, word := range words[1:] {
		key, v, _ := strings.Cut(word, "=")
		switch {
		case !strings.EqualFold(key, "name") || len(key) == len(word):
			return "", nil, "ERR Invalid metadata value given: " + word
		case named:
			return "", nil, "ERR Invalid metadata value, name argument was given multiple times"
		}
		name, named = v, true
	}
	switch engineName := words[0][len("#!"):]; {
	case !named:
		wrong = "ERR Library name was not given"
	case !validName(name):
		wrong = "ERR " + wrongName
	case !strings.EqualFold(engineName, "lua"):
		wrong = "ERR Engine '" + engineName + "' not found"
	case len(name) > engine.MaxDocumentName:
		wrong = fmt.Sprintf("ERR the name of a library has at most %d bytes", engine.MaxDocumentName)
	}
	return name, text[len(line):], wrong
}

// libraryOf returns the compiled form of a document, nil if it has become invalid. Cost: a
// load, unless it has to be compiled.
func libraryOf(d *engine.Document) *Library {
	if l, _ := d.Compiled.Load().(*Library); l != nil {
		return l
	}
	// The library was accepted before, with prepaid if its level required that.
	l, wrong := CompileLibrary([]byte(d.Text), false, false)
	if wrong != "" {
		return nil
	}
	l.keepAs(d)
	return l
}

// keepAs makes a library the compiled form of a document.
func (l *Library) keepAs(d *engine.Document) {
	for _, f := range l.functions {
		f.document = d
	}
	d.Compiled.Store(l)
	compiled.keep(kept{&d.Compiled, (*Library)(nil), l.chunk.Size()})
}

// libraryMachines are those that run no function.
var libraryMachines = sync.Pool{New: func() any {
	m := &machine{st: lua.NewState(libraryHost().env)}
	m.st.Embedder = m
	return m
}}
