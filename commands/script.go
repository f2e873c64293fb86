package commands

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"fmt"

	"limitsrv/commands/resp"
	"limitsrv/commands/scripts"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

var (
	errNotBusy     = resp.NewError("NOTBUSY", "No scripts in execution right now.")
	errFlushOption = resp.NewError("ERR", "SCRIPT FLUSH only support SYNC|ASYNC option")
	errLongScript  = resp.NewError("ERR", fmt.Sprintf("a script has at most %d bytes", engine.MaxSourceBytes))
	errNoScript    = resp.NewError("NOSCRIPT", "No matching script. Please use EVAL.")
)

// scriptHost is the part of a node that scripts need.
type scriptHost struct {
	engine func() *engine.Engine // nil: no source is known
	leads  func() bool           // of the cluster
	budget *scriptBudget
}

func newScriptHost(c session.Config) *scriptHost {
	return &scriptHost{
		engine: c.Engine, leads: func() bool { return c.Cluster == nil || c.Cluster.Leads() },
		budget: newScriptBudget(cmp.Or(c.ScriptSteps, scripts.DefaultSteps), c.Clock),
	}
}

// commands returns the commands that run scripts.
func (h *scriptHost) commands() []*spec.Command {
	const args, hashArgs = "script numkeys [key ...] [arg ...]", "sha1 numkeys [key ...] [arg ...]"
	writes := spec.NoScript | spec.Stale | spec.Runs
	reads := writes | spec.ReadOnly
	type (
		opFn   = func(b *engine.Batch, args [][]byte) error
		usesFn = func(args [][]byte) (spec.Uses, error)
	)
	run := func(name, args, summary, since string, flags spec.Flags, op opFn, uses usesFn) *spec.Command {
		return &spec.Command{
			Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the steps of the script", Since: since,
			Group: "scripting",
			Flags: flags, Keys: spec.Keys{Count: 2}, Body: &spec.Ops{Parse: op}, Uses: uses, Long: 3,
		}
	}
	return []*spec.Command{
		run("EVAL", args, "Runs a Lua script between other commands, and returns its result. The first numkeys arguments "+
			"are KEYS, all others ARGV. An error beyond --script-steps; writes so far stay.", "2.6.0", writes, h.opEval(0),
			h.usesOfText),
		run("EVALSHA", hashArgs, "Runs a known script, named by the SHA-1 of its text. NOSCRIPT if it is unknown; a script "+
			"stays known after a restart.", "2.6.0", writes, h.opEvalSHA(0), h.usesOfHash),
		run("EVAL_RO", args, "Runs a Lua script, as EVAL does, whose writes are errors.", "7.0.0", reads,
			h.opEval(scripts.Only|scripts.Looks), h.usesOfText),
		run("EVALSHA_RO", hashArgs, "Runs a known script, as EVALSHA does, whose writes are errors.", "7.0.0", reads,
			h.opEvalSHA(scripts.Only|scripts.Looks), h.usesOfHash),
		run("FCALL", "function numkeys [key ...] [arg ...]", "Runs a function of a library of FUNCTION LOAD. It gets the "+
			"first numkeys arguments as its keys, all others as its args. An error beyond --script-steps; writes so far stay.",
			"7.0.0", writes, h.opFunction(0), h.usesOfFunction),
		run("FCALL_RO", "function numkeys [key ...] [arg ...]", "Runs a function that has the flag no-writes, as FCALL does.",
			"7.0.0", reads, h.opFunction(scripts.Only|scripts.Looks), h.usesOfFunction),
		h.scriptContainer(), h.functionContainer(),
	}
}

// scriptContainer returns the command SCRIPT.
func (h *scriptHost) scriptContainer() *spec.Command {
	return &spec.Command{
		Name: "SCRIPT", Summary: "Commands about known scripts.",
		Complexity: "See its subcommands", Since: "2.6.0", Group: "scripting",
		Body: &spec.Container{Sub: []spec.Command{
			{
				Name: "LOAD", Args: "script", Summary: "Stores a script on all nodes until SCRIPT FLUSH, and returns the SHA-1 " +
					"of its text. An error if it does not compile.",
				Complexity: "O(N), N being the bytes of the script", Since: "2.6.0", Group: "scripting",
				Flags: spec.NoScript | spec.Stale | spec.Runs,
				Body:  &spec.Ops{Parse: h.opScriptLoad},
				Uses:  func([][]byte) (spec.Uses, error) { return spec.Uses{Constant: true, Declared: true}, nil },
			},
			{
				Name: "EXISTS", Args: "sha1 [sha1 ...]", Summary: "Returns 1 or 0 for each SHA-1: known or not.",
				Complexity: "O(N), N being the digests", Since: "2.6.0", Group: "scripting", Flags: spec.NoScript | spec.Plain,
				Body: &spec.Ops{Parse: func(b *engine.Batch, args [][]byte) error {
					scripts.SetExists(b.AddCall(0), args[2:])
					return nil
				}},
			},
			{
				Surplus: always(errFlushOption), Name: "FLUSH", Args: "[ASYNC|SYNC]",
				Summary:    "Drops all scripts on all nodes; EVALSHA then gets NOSCRIPT.",
				Complexity: "O(N), N being the scripts", Since: "2.6.0", Group: "scripting", Flags: spec.NoScript | spec.Runs,
				Body: &spec.Ops{Parse: opScriptFlush, Reply: func(w *resp.Writer, _ []engine.Op, _ []engine.Decision) { w.OK() }},
			},
			{
				Name: "KILL", Summary: "Always NOTBUSY: a script that runs too long ends at its budget of steps.",
				Complexity: "O(1)", Since: "2.6.0", Group: "scripting", Flags: spec.NoScript | spec.Runs,
				Body: session.Run(func(_ *session.Session, w *resp.Writer, _ [][]byte) { w.Error(errNotBusy) }),
			},
		}},
	}
}

// namesScript reports whether the command of this name runs a script that must be loaded before.
func namesScript(name []byte) bool {
	return word.Is(name, "EVALSHA") || word.Is(name, "EVALSHA_RO") || word.Is(name, "FCALL") || word.Is(name, "FCALL_RO")
}

// mayCompile charges the steps of compiling a text to the budget of this node. It returns an error
// if the scripts of the node have recently used too many steps.
func (h *scriptHost) mayCompile(steps int64) error {
	if steps == 0 || h.engine == nil || h.budget.mayCompile(h.engine(), steps) {
		return nil
	}
	return resp.NewError("ERR", fmt.Sprintf("the script takes %d steps to compile, and it may take %d while scripts are "+
		"heavy (--script-steps)", steps, h.budget.light.rungs[0].steps))
}

// compiled returns the compiled form of source, compiling it if necessary.
func (h *scriptHost) compiled(source *engine.Source) (*scripts.Script, error) {
	if s := scripts.Compiled(source); s != nil {
		return s, nil
	}
	if err := h.mayCompile(scripts.StepsTo(source)); err != nil {
		return nil, err
	}
	return scripts.Of(source), nil
}

// compile compiles the text of a new script.
func (h *scriptHost) compile(text []byte) (*scripts.Script, error) {
	if err := h.mayCompile(scripts.CompileSteps(len(text))); err != nil {
		return nil, err
	}
	s, wrong := scripts.Compile(text)
	if wrong != "" {
		return nil, errorOf(wrong)
	}
	return s, nil
}

// usesOfText returns the uses of the script that is an argument of EVAL.
func (h *scriptHost) usesOfText(args [][]byte) (spec.Uses, error) {
	if source := h.known(sha1.Sum(args[1])); source != nil {
		return usesOf(h.compiled(source))
	}
	return usesOf(h.compile(args[1]))
}

// usesOfHash returns the uses of the script that EVALSHA names. An unknown script is an
// error, since it may become known until it runs.
func (h *scriptHost) usesOfHash(args [][]byte) (spec.Uses, error) {
	if source := h.named(args[1]); source != nil {
		return usesOf(h.compiled(source))
	}
	return spec.Uses{}, errNoScript
}

func usesOf(s *scripts.Script, err error) (spec.Uses, error) {
	if err != nil {
		return spec.Uses{}, err
	}
	names, constant := s.Names()
	return spec.Uses{Names: names, Constant: constant, Declared: s.Modes()&scripts.Declared != 0}, nil
}

// known returns a source that the engine has now.
func (h *scriptHost) known(id engine.SourceID) *engine.Source {
	if h.engine == nil {
		return nil
	}
	return h.engine().Source(id)
}

// addRun adds a call to a batch, to be set to a run of a script or function, and returns it with
// its budget. longest is as for scriptBudget.next.
func (h *scriptHost) addRun(b *engine.Batch, longest int64) (c *engine.Call, budget []byte) {
	heavy := int64(unknownHeavy)
	if h.engine != nil {
		heavy = h.engine().HeavySteps()
	}
	c = b.AddCall(0)
	scripts.SetLongest(c, longest)
	return c, h.budget.next(b, heavy, longest)
}

// review lowers the budgets of the runs in a batch of another node to the budgets of this node,
// because the other engine does not count the steps of read-only runs, and sets Slow. Requires:
// the engine is set.
func (h *scriptHost) review(b *engine.Batch) {
	heavy := h.engine().HeavySteps()
	for i := range b.Calls {
		c := &b.Calls[i]
		name, function, ok := scripts.RunOf(c)
		if !ok {
			continue
		}
		if !h.reviewCompile(name, function) {
			scripts.SetSteps(c, noSteps)
			continue
		}
		if lower := h.budget.review(b, heavy, h.longest(name, function), scripts.StepsOf(c)); lower != nil {
			scripts.SetSteps(c, lower)
		}
	}
}

// noSteps is the step budget of a run that must not compile its script.
var noSteps = scripts.Steps(0)

// reviewCompile charges the steps of compiling the script or function that another node runs. It
// returns false if the budget does not allow them.
func (h *scriptHost) reviewCompile(name []byte, function bool) bool {
	steps := int64(0)
	if function {
		if f := h.function(name); f != nil {
			steps = f.StepsTo()
		}
	} else if source := h.named(name); source != nil {
		steps = scripts.StepsTo(source)
	}
	return h.mayCompile(steps) == nil
}

// longest returns the steps of the longest run of a script, by its hash, or a function; 0 without
// a run.
func (h *scriptHost) longest(name []byte, function bool) int64 {
	if function {
		if f := h.function(name); f != nil {
			return f.Longest()
		}
	} else if source := h.named(name); source != nil {
		return source.Longest()
	}
	return 0
}

// named returns a source that the engine has now, by its hash.
func (h *scriptHost) named(hash []byte) *engine.Source {
	if h.engine == nil {
		return nil
	}
	return h.engine().SourceNamed(hash)
}

// opEval appends a run of a script, and a Learn of it unless the engine will know it.
func (h *scriptHost) opEval(modes scripts.Modes) func(*engine.Batch, [][]byte) error {
	return func(b *engine.Batch, args [][]byte) error {
		if _, wrong := scripts.KeyCount(args[1:]); wrong != "" {
			return resp.NewError("ERR", wrong)
		}
		text := args[1]
		id := engine.SourceID(sha1.Sum(text))
		found, longest, source := scripts.Modes(0), int64(0), h.known(id)
		if source != nil {
			longest = source.Longest()
		}
		if err := h.modes(source, text, &found); err != nil {
			return err
		}
		known, decided := b.Learns(id)
		if !decided {
			known = source != nil
		}
		if !known && len(text) > 0 {
			b.AddLearn(text)
		}
		hash := hex.AppendEncode(make([]byte, 0, hex.EncodedLen(len(id))), id[:])
		c, budget := h.addRun(b, longest)
		scripts.SetRun(c, modes|found|scripts.Known, budget, hash, args[2:])
		return nil
	}
}

// modes sets *modes to the modes of a script: of source, or if source is nil, of text.
func (h *scriptHost) modes(source *engine.Source, text []byte, modes *scripts.Modes) (err error) {
	var s *scripts.Script
	switch {
	case source != nil:
		s, err = h.compiled(source)
	case len(text) > engine.MaxSourceBytes:
		return errLongScript
	default:
		s, err = h.compile(text)
	}
	if err != nil {
		return err
	}
	*modes = s.Modes()
	return nil
}

// opEvalSHA appends a run of a script that should be known.
func (h *scriptHost) opEvalSHA(modes scripts.Modes) func(*engine.Batch, [][]byte) error {
	return func(b *engine.Batch, args [][]byte) error {
		if len(args[1]) != hex.EncodedLen(sha1.Size) {
			return errNoScript
		}
		if _, wrong := scripts.KeyCount(args[1:]); wrong != "" {
			return resp.NewError("ERR", wrong)
		}
		found, longest := scripts.Modes(0), int64(0)
		if source := h.named(args[1]); source != nil {
			longest = source.Longest()
			if err := h.modes(source, nil, &found); err != nil {
				return err
			}
		}
		c, budget := h.addRun(b, longest)
		scripts.SetRun(c, modes|found, budget, args[1], args[2:])
		return nil
	}
}

func (h *scriptHost) opScriptLoad(b *engine.Batch, args [][]byte) error {
	var modes scripts.Modes
	if source := h.known(sha1.Sum(args[2])); source == nil {
		if err := h.modes(nil, args[2], &modes); err != nil {
			return err
		}
	}
	if len(args[2]) > 0 {
		b.AddLearn(args[2])
	}
	id := sha1.Sum(args[2])
	scripts.SetName(b.AddCall(0), hex.AppendEncode(nil, id[:]))
	return nil
}

func opScriptFlush(b *engine.Batch, args [][]byte) error {
	if len(args) == 3 && !word.Is(args[2], "SYNC") && !word.Is(args[2], "ASYNC") {
		return errFlushOption
	}
	b.AddFlush()
	return nil
}
