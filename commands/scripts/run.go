package scripts

import (
	"crypto/sha1"
	"sync"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/value"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// maxMemory is the memory of a run in bytes. It is the same on all nodes, so that a run fails alike
// on all.
const maxMemory = 64 << 20

// prepaid reports whether all work and memory of a call is charged before it is spent.
func prepaid(tx *engine.Tx) bool { return tx.Level() >= chargedLevel }

// machines are those that run no script.
var machines = sync.Pool{New: func() any {
	h := host()
	m := &machine{st: lua.NewState(h.env), keys: h.keys, argv: h.argv}
	m.st.Embedder = m
	return m
}}

// run carries out a run.
func run(tx *engine.Tx, c *engine.Call) {
	modes, _ := modesOf(c)
	hash := c.Args[hashArg]
	source := find(tx, hash, modes)
	switch {
	case source == nil && isEmpty(hash):
		c.Answer = answer.AppendNil(c.Answer)
		return
	case source == nil:
		c.Answer = answer.AppendError(c.Answer, "NOSCRIPT No matching script. Please use EVAL.")
		return
	}
	if hasNoSteps(tx, c) {
		return
	}
	s := Compiled(source)
	if s == nil {
		tx.AddHeavy(StepsTo(source) - LightSteps)
		s = Of(source)
	}
	switch {
	case s.wrong != "":
		c.Answer = answer.AppendError(c.Answer, s.wrong)
	case modes&(Looks|Only) == Looks|Only && s.flagged && !s.noWrites:
		c.Answer = answer.AppendError(c.Answer, "ERR Can not execute a script with write flag using *_ro command.")
	default:
		m := machineFor(tx)
		m.tx, m.run, m.looks, m.declared = tx, c, modes&Looks != 0 || s.noWrites, modes&Declared != 0
		m.do(s.chunk, source)
	}
}

// hasNoSteps answers a run with a budget of 0 steps, for which not even the script may be compiled.
func hasNoSteps(tx *engine.Tx, c *engine.Call) bool {
	if steps := c.Args[stepsArg]; len(steps) != 1 || steps[0] != 0 || !prepaid(tx) {
		return false
	}
	c.Answer = answer.AppendError(c.Answer, "ERR "+host().env.LimitText(lua.StepLimit, lua.Limits{}))
	return true
}

// machineFor returns the machine that runs the scripts of a batch.
func machineFor(tx *engine.Tx) *machine {
	m, ok := tx.Worker.(*machine)
	if !ok {
		m = machines.Get().(*machine)
		tx.Worker = m
	}
	return m
}

// Release makes the machine one that runs no script, after the scripts of a batch.
func (m *machine) Release() {
	m.forget()
	machines.Put(m)
}

// find returns the source of a hash, or nil.
func find(tx *engine.Tx, hash []byte, modes Modes) *engine.Source {
	source := tx.SourceNamed(hash)
	if source == nil && modes&Known != 0 {
		source = tx.AnySourceNamed(hash)
	}
	return source
}

// do runs a script, which has a source, or the wanted function of a library, answers and
// counts. It returns the steps.
func (m *machine) do(chunk *lua.Chunk, source *engine.Source) (steps int64) {
	c := m.run
	budget := StepsOf(c)
	m.protocol, m.published, m.added = answer.RESP2, 0, 0
	m.tx.WholeAnswers()
	newest := prepaid(m.tx)
	limits := lua.Limits{Steps: budget, Memory: maxMemory, Prepaid: newest, Native: !newest}
	m.st.Reset(limits)
	if newest {
		m.st.SeedLate(m)
	} else {
		m.st.Seed(m.Seed())
	}
	left := int64(0)
	if keys, argv, passed := m.arguments(); passed != lua.NoLimit {
		m.exceed(passed, limits)
	} else {
		left = m.evaluate(chunk, keys, argv, limits)
	}
	steps = budget - max(0, left)
	m.tx.AddHeavy(heavySteps(steps, left))
	m.tx.CountRun(source, steps, answer.IsError(c.Answer))
	return steps
}

// Seed returns the seed of the script's random numbers, from the generator of its call.
func (m *machine) Seed() int32 { return int32(m.tx.Random().Uint64()) }

// heavySteps returns the heavy ones of the steps of a run: those beyond LightSteps. If none is left
// of a low budget, all are heavy, because the run could have taken any number: a node on which
// endless scripts end at low budgets does not regain high ones meanwhile.
func heavySteps(steps, left int64) int64 {
	if left <= 0 && steps <= LightSteps {
		return steps
	}
	return steps - LightSteps
}

// evaluate runs a script, or the wanted function of a library, with its arguments, and
// answers. It returns the steps that are left.
func (m *machine) evaluate(chunk *lua.Chunk, keys, argv value.List, limits lua.Limits) (left int64) {
	results, err := m.start(chunk, keys, argv)
	left = m.st.StepsLeft()
	m.st.Heap.Unbound()
	if err != nil {
		m.failWith(err.(*lua.Error))
		if limits.Prepaid {
			left = max(0, left-int64(len(m.run.Answer)/errorPerStep))
		}
		return left
	}
	v := value.Nil
	if len(results) > 0 {
		v = results[0]
	}
	if left = m.reply(v, left); left < 0 {
		m.exceed(lua.StepLimit, limits)
	}
	return left
}

// exceed answers that a limit was passed outside of the script's code.
func (m *machine) exceed(limit lua.LimitKind, limits lua.Limits) {
	m.fail("ERR "+host().env.LimitText(limit, limits), chunkName, 0)
}

// errorPerStep is the number of bytes of a run's error message that count as a step.
const errorPerStep = 16

// start runs a script, or the wanted function of a library.
func (m *machine) start(chunk *lua.Chunk, keys, argv value.List) (results []value.Value, err error) {
	if m.wanted == "" {
		m.st.SetList(m.keys, keys)
		m.st.SetList(m.argv, argv)
		return m.st.Run(chunk)
	}
	if err := m.register(chunk); err != nil {
		return nil, err
	}
	m.pair = [2]value.Value{value.OfTable(m.st.Heap.TableOf(&keys)), value.OfTable(m.st.Heap.TableOf(&argv))}
	return m.st.RunFunction(m.callback, m.pair[:]...)
}

// emptyID is the ID of the empty script, which is known without being learned.
var emptyID = engine.SourceID(sha1.Sum(nil))

// LightSteps is the number of steps up to which a run is light: half a millisecond or less.
const LightSteps = 10_000

// isEmpty reports whether a hash names the empty script.
func isEmpty(hash []byte) bool {
	id, ok := engine.ParseSourceID(hash)
	return ok && id == emptyID
}
