package commands

import (
	"fmt"
	"strings"

	"limitsrv/commands/resp"
	"limitsrv/commands/scripts"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

var (
	errNoFunction     = errorOf(scripts.ErrNoFunction)
	errBadCount       = resp.NewError("ERR", "Bad number of keys provided")
	errNoPattern      = resp.NewError("ERR", "library name argument was not given")
	errLongLibrary    = resp.NewError("ERR", fmt.Sprintf("a library has at most %d bytes", engine.MaxDocumentBytes))
	errFunctionOption = resp.NewError("ERR", "FUNCTION FLUSH only supports SYNC|ASYNC option")
)

// errorOf returns the error of a text with its code word.
func errorOf(text string) *resp.Error {
	code, rest, _ := strings.Cut(text, " ")
	return resp.NewError(code, rest)
}

// functionContainer returns the command FUNCTION.
func (h *scriptHost) functionContainer() *spec.Command {
	return &spec.Command{
		Name: "FUNCTION", Summary: "Commands about libraries of functions.",
		Complexity: "See its subcommands", Since: "7.0.0", Group: "scripting",
		Body: &spec.Container{Sub: []spec.Command{
			{
				Name: "LOAD", Args: "[REPLACE] function-code", Summary: "Stores a library of functions in Lua on all nodes, " +
					"REPLACE: in place of the one of its name, and returns its name. An error if it does not load.",
				Complexity: "O(N), N being the bytes of the library", Since: "7.0.0", Group: "scripting",
				Flags: spec.NoScript | spec.Write | spec.DenyOOM | spec.Runs | spec.Plain | spec.OpenEnded,
				Body:  &spec.Ops{Parse: h.opFunctionLoad},
			},
			{
				Name: "DELETE", Args: "library-name", Summary: "Deletes a library and its functions on all nodes.",
				Complexity: "O(N), N being the libraries", Since: "7.0.0", Group: "scripting",
				Flags: spec.NoScript | spec.Write | spec.Runs | spec.Plain,
				Body: &spec.Ops{Parse: func(b *engine.Batch, args [][]byte) error {
					scripts.SetDelete(b.AddCall(0), args[2])
					return nil
				}},
			},
			{
				Surplus: session.BadSubcommand, Name: "FLUSH", Args: "[ASYNC|SYNC]", Summary: "Deletes all libraries on all nodes.",
				Complexity: "O(N), N being the libraries", Since: "7.0.0", Group: "scripting",
				Flags: spec.NoScript | spec.Write | spec.Runs | spec.Plain, Body: &spec.Ops{Parse: opFunctionFlush},
			},
			{
				Name: "LIST", Args: "[LIBRARYNAME library-name-pattern] [WITHCODE]",
				Summary:    "Lists libraries with their functions, in the order of their names.",
				Complexity: "O(N), N being the functions", Since: "7.0.0", Group: "scripting",
				Flags: spec.NoScript | spec.Plain | spec.OpenEnded, Body: &spec.Ops{Parse: opFunctionList}, Long: 2,
			},
			{
				Name: "STATS", Summary: "Returns the numbers of libraries and functions. No running function is ever shown.",
				Complexity: "O(1)", Since: "7.0.0", Group: "scripting", Flags: spec.NoScript | spec.Plain,
				Body: &spec.Ops{Parse: func(b *engine.Batch, _ [][]byte) error {
					scripts.SetStats(b.AddCall(0))
					return nil
				}},
			},
			{
				Name: "KILL", Summary: "Always NOTBUSY: a function that runs too long ends at its budget of steps.",
				Complexity: "O(1)", Since: "7.0.0", Group: "scripting", Flags: spec.NoScript | spec.Runs,
				Body: session.Run(func(_ *session.Session, w *resp.Writer, _ [][]byte) { w.Error(errNotBusy) }),
			},
		}},
	}
}

func (h *scriptHost) opFunctionLoad(b *engine.Batch, args [][]byte) error {
	last := len(args) - 1
	for _, option := range args[2:last] {
		if !word.Is(option, "REPLACE") {
			return resp.NewError("ERR", "Unknown option given: "+word.Unquoted(option))
		}
	}
	if len(args[last]) > engine.MaxDocumentBytes {
		return errLongLibrary
	}
	if err := h.mayCompile(scripts.CompileSteps(len(args[last]))); err != nil {
		return err
	}
	scripts.SetLoad(b.AddCall(0), args[last], last > 2)
	return nil
}

func opFunctionFlush(b *engine.Batch, args [][]byte) error {
	if len(args) == 3 && !word.Is(args[2], "SYNC") && !word.Is(args[2], "ASYNC") {
		return errFunctionOption
	}
	scripts.SetFlush(b.AddCall(0))
	return nil
}

func opFunctionList(b *engine.Batch, args [][]byte) error {
	var pattern []byte
	withCode, named := false, false
	for i := 2; i < len(args); i++ {
		switch {
		case !withCode && word.Is(args[i], "WITHCODE"):
			withCode = true
		case named || !word.Is(args[i], "LIBRARYNAME"):
			return resp.NewError("ERR", "Unknown argument "+word.Unquoted(args[i]))
		case i+1 == len(args):
			return errNoPattern
		default:
			i++
			pattern, named = args[i], true
		}
	}
	if named && len(pattern) == 0 { // it matches no name; as an argument it would stand for all
		pattern = []byte("[]")
	}
	scripts.SetList(b.AddCall(0), pattern, withCode)
	return nil
}

// function returns a function that the engine has now, or nil.
func (h *scriptHost) function(name []byte) *scripts.Function {
	if h.engine == nil {
		return nil
	}
	return scripts.FindFunction(h.engine().Documents(engine.Libraries), name)
}

// usesOfFunction returns the uses of the function that a line names. An unknown function is
// an error, since it may become known until it runs.
func (h *scriptHost) usesOfFunction(args [][]byte) (spec.Uses, error) {
	f := h.function(args[1])
	if f == nil {
		return spec.Uses{}, errNoFunction
	}
	names, constant := f.Names()
	return spec.Uses{Names: names, Constant: constant, Declared: f.Modes()&scripts.Declared != 0}, nil
}

// opFunction appends a run of a function. A node that does not lead may know an older
// function, so its runs enter all shards.
func (h *scriptHost) opFunction(modes scripts.Modes) func(*engine.Batch, [][]byte) error {
	return func(b *engine.Batch, args [][]byte) error {
		f := h.function(args[1])
		if _, wrong := scripts.KeyCount(args[1:]); wrong != "" {
			switch {
			case f == nil:
				return errNoFunction
			case wrong == scripts.ErrNoCount:
				return errBadCount
			}
			return resp.NewError("ERR", wrong)
		}
		found, longest := scripts.Modes(0), int64(0)
		if f != nil {
			longest = f.Longest()
			if err := h.mayCompile(f.StepsTo()); err != nil {
				return err
			}
			f.Prepare()
		}
		if f != nil && h.leads() && !scripts.ChangesLibraries(b) {
			found = f.Modes()
		}
		c, budget := h.addRun(b, longest)
		scripts.SetFunctionRun(c, modes|found, budget, args[1], args[2:])
		return nil
	}
}
