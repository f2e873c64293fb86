package scripts

import (
	"fmt"
	"strings"
	"sync/atomic"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/glob"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// functions are the functions of all libraries by name.
type functions struct {
	documents []*engine.Document   // with these functions
	libraries []*Library           // of these, without chunks
	byName    map[string]*Function // in lower case: they are the same in any case
}

// lastFunctions are those that were looked for last: most processes have a single engine.
var lastFunctions atomic.Pointer[functions]

// functionsOf returns the functions of documents. Cost: a load, unless the documents have
// changed: then linear in the libraries. Only new libraries are compiled.
func functionsOf(documents []*engine.Document) *functions {
	last := lastFunctions.Load()
	if last == nil {
		last = new(functions)
	}
	if n := len(documents); n == len(last.documents) && (n == 0 || &documents[0] == &last.documents[0]) {
		return last
	}
	x := &functions{documents: documents, byName: make(map[string]*Function)}
	i := 0 // in last.documents
	for _, d := range documents {
		for i < len(last.documents) && last.documents[i].Name < d.Name {
			i++
		}
		var l *Library
		if i < len(last.documents) && last.documents[i] == d {
			l = last.libraries[i]
		} else if l = libraryOf(d); l == nil {
			l = &Library{}
		}
		x.libraries = append(x.libraries, &Library{name: l.name, functions: l.functions})
		for _, f := range l.functions {
			x.byName[strings.ToLower(f.Name)] = f
		}
	}
	lastFunctions.Store(x)
	return x
}

// FindFunction returns a function of one of some documents by its name in any case, or nil. Cost: see functionsOf.
func FindFunction(documents []*engine.Document, name []byte) *Function {
	var b [64]byte
	lower := append(b[:0], name...)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return functionsOf(documents).byName[string(lower)]
}

// ErrNoFunction is the answer to a run of an unknown function.
const ErrNoFunction = "ERR Function not found"

// runFunction carries out a run of a function.
func runFunction(tx *engine.Tx, c *engine.Call) {
	modes, _ := modesOf(c)
	f := FindFunction(tx.Documents(engine.Libraries), c.Args[hashArg])
	var l *Library
	if f != nil {
		if hasNoSteps(tx, c) {
			return
		}
		tx.AddHeavy(f.StepsTo() - LightSteps)
		l = libraryOf(f.document)
	}
	switch {
	case l == nil:
		c.Answer = answer.AppendError(c.Answer, ErrNoFunction)
	case modes&(Looks|Only) == Looks|Only && !f.noWrites():
		c.Answer = answer.AppendError(c.Answer, "ERR Can not execute a script with write flag using *_ro command.")
	case modes&(Declared|Looks)&^f.modesAt(tx.Level()) != 0 || f.modesAt(tx.Level()).all() && !modes.all():
		c.Answer = answer.AppendError(c.Answer, "TRYAGAIN the function was replaced while the call was on its way")
	default:
		m := libraryMachines.Get().(*machine)
		m.tx, m.run, m.looks, m.declared, m.wanted = tx, c, modes&Looks != 0 || f.noWrites(), modes&Declared != 0, f.Name
		engine.KeepMost(&f.longest, m.do(l.chunk, nil))
		m.forget()
		libraryMachines.Put(m)
	}
}

// loadLibraryOf carries out FUNCTION LOAD.
func loadLibraryOf(tx *engine.Tx, c *engine.Call) {
	l, wrong := CompileLibrary(c.Args[0], prepaid(tx), !prepaid(tx))
	if wrong == "" {
		wrong = mayLoad(tx, l, len(c.Args) > 1)
	}
	if wrong == "" {
		if err := tx.SetDocument(engine.Libraries, l.name, string(c.Args[0])); err != nil {
			wrong = "ERR the libraries would be too large: " + err.Error()
		}
	}
	if wrong != "" {
		c.Answer = answer.AppendError(c.Answer, wrong)
		return
	}
	l.keepAs(tx.Document(engine.Libraries, l.name))
	c.Answer = answer.AppendBulk(c.Answer, []byte(l.name))
}

// mayLoad returns Redis' error if a library cannot be beside the other libraries.
func mayLoad(tx *engine.Tx, l *Library, replace bool) (wrong string) {
	if tx.Tight() {
		return datatypes.ErrFull
	}
	if !replace && tx.Document(engine.Libraries, l.name) != nil {
		return "ERR Library '" + l.name + "' already exists"
	}
	for _, f := range l.functions {
		if other := FindFunction(tx.Documents(engine.Libraries), []byte(f.Name)); other != nil && other.owner != l.name {
			return "ERR Function " + f.Name + " already exists"
		}
	}
	return ""
}

// dropLibraries carries out FUNCTION DELETE and FLUSH.
func dropLibraries(tx *engine.Tx, c *engine.Call) {
	if c.Command == flushLibrary {
		tx.DropDocuments(engine.Libraries)
	} else if !tx.DropDocument(engine.Libraries, string(c.Args[0])) {
		c.Answer = answer.AppendError(c.Answer, "ERR Library not found")
		return
	}
	c.Answer = answer.AppendStatus(c.Answer, "OK")
}

// describeLibraries carries out FUNCTION LIST.
func describeLibraries(tx *engine.Tx, c *engine.Call) {
	all := functionsOf(tx.Documents(engine.Libraries))
	withCode := len(c.Args) > 1
	pattern := glob.Compile(c.Args[0], glob.AnyCase)
	var matching []int
	for i, l := range all.libraries {
		if len(c.Args[0]) == 0 || pattern.Match([]byte(l.name)) {
			matching = append(matching, i)
		}
	}
	out := answer.AppendArray(c.Answer, len(matching))
	size := 0
	for _, i := range matching {
		if size += all.libraries[i].describedBytes(); withCode {
			size += len(all.documents[i].Text)
		}
		if size > tx.AnswerRoom() {
			tx.RefuseAnswer()
			c.Answer = answer.AppendError(out[:0],
				fmt.Sprintf("ERR the answer has %d bytes or more, at most %d are allowed: ask for fewer libraries at a time",
					size, tx.AnswerRoom()))
			return
		}
		fields := 3
		if withCode {
			fields++
		}
		out = answer.AppendMap(out, fields)
		out = appendTexts(out, "library_name", all.libraries[i].name, "engine", "LUA", "functions")
		out = answer.AppendArray(out, len(all.libraries[i].functions))
		for _, f := range all.libraries[i].functions {
			out = f.describe(out)
		}
		if withCode {
			out = appendTexts(out, "library_code", all.documents[i].Text)
		}
	}
	tx.ClaimAnswer(size)
	c.Answer = out
}

// describedBytes returns an upper bound of the bytes of a library in FUNCTION LIST, without its
// text.
func (l *Library) describedBytes() (n int) {
	const each = 200 // for each library and function: field names and flags
	n = each + len(l.name)
	for _, f := range l.functions {
		n += each + len(f.Name) + len(f.description)
	}
	return n
}

// describe appends a function as FUNCTION LIST shows it.
func (f *Function) describe(out []byte) []byte {
	out = answer.AppendMap(out, 3)
	out = appendTexts(out, "name", f.Name, "description")
	if f.described {
		out = appendTexts(out, f.description)
	} else {
		out = answer.AppendNil(out)
	}
	out = appendTexts(out, "flags")
	out = answer.AppendSet(out, len(f.flags))
	for _, flag := range f.flags {
		out = answer.AppendStatus(out, flag)
	}
	return out
}

// countLibraries carries out FUNCTION STATS. No function ever runs beside it.
func countLibraries(tx *engine.Tx, c *engine.Call) {
	all := functionsOf(tx.Documents(engine.Libraries))
	out := answer.AppendMap(c.Answer, 2)
	out = answer.AppendNil(appendTexts(out, "running_script"))
	out = answer.AppendMap(appendTexts(out, "engines"), 1)
	out = answer.AppendMap(appendTexts(out, "LUA"), 2)
	out = answer.AppendInt(appendTexts(out, "libraries_count"), int64(len(all.libraries)))
	c.Answer = answer.AppendInt(appendTexts(out, "functions_count"), int64(len(all.byName)))
}

// appendTexts appends texts as bulk strings.
func appendTexts(out []byte, texts ...string) []byte {
	for _, text := range texts {
		out = answer.AppendBulk(out, []byte(text))
	}
	return out
}
