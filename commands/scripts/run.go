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

// hasNoSteps answers a run with a budget of 0 steps. Not even the script may be compiled for it.
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

// Release frees the machine after the scripts of a batch.
func (m *machine) Release() {
	m.forget()
	machines.Put(m)
}

// The answers to a run without a source.
var (
	emptyAnswer = answer.AppendNil(nil)
	noScript    = answer.AppendError(nil, "NOSCRIPT No matching script. Please use EVAL.")
)

// find returns the source of a hash, or nil and the answer.
func find(tx *engine.Tx, hash []byte, modes Modes) (source *engine.Source, wrong []byte) {
	source = tx.SourceNamed(hash)
	if source == nil && modes&Known != 0 {
		source = tx.AnySourceNamed(hash)
	}
	switch {
	case source != nil:
		return source, nil
	case isEmpty(hash):
		return nil, emptyAnswer
	}
	return nil, noScript
}

// do runs a script, which has a source, or the wanted function of a library, answers and
// counts. It returns the steps.
func (m *machine) do(chunk *lua.Chunk, source *engine.Source) (steps int64) {
	c := m.run
	budget := StepsOf(c)
	m.protocol, m.published, m.added = answer.RESP2, 0, 0
	m.tx.WholeAnswers()
	newest := prepaid(m.tx)
	limits := lua.Limits{Steps: budget, Memory: maxMemory, Prepaid: newest, Native: !newest,
		Together: m.tx.Level() >= togetherLevel}
	m.st.Reset(limits)
	if newest {
		m.st.SeedLate(m)
	} else {
		m.st.Seed(m.Seed())
	}
	left := int64(0)
	if function, args, passed, err := m.prepare(chunk); passed != lua.NoLimit {
		m.exceed(passed, limits)
	} else {
		var results []value.Value
		if err == nil {
			results, err = m.st.RunFunction(function, args...)
		}
		left = m.conclude(results, err, limits)
	}
	steps = budget - max(0, left)
	m.tx.AddHeavy(heavySteps(steps, left))
	m.tx.CountRun(source, steps, answer.IsError(c.Answer))
	return steps
}

// Seed returns the seed of the script's random numbers, from the generator of its call.
func (m *machine) Seed() int32 { return int32(m.tx.Random().Uint64()) }

// heavySteps returns the number of heavy steps of a run: steps beyond LightSteps. If no step is
// left of a low budget, all are heavy, because the run could have taken any number. So a node with
// endless scripts that end at low budgets does not regain high budgets meanwhile.
func heavySteps(steps, left int64) int64 {
	if left <= 0 && steps <= LightSteps {
		return steps
	}
	return steps - LightSteps
}

// conclude answers the results or the error of a run. It returns the steps that are left.
func (m *machine) conclude(results []value.Value, err error, limits lua.Limits) (left int64) {
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

// prepare returns the function of a script with its variables set, or the wanted function of a
// library with its arguments, or the limit that the arguments of the run pass.
func (m *machine) prepare(chunk *lua.Chunk) (function value.Value, args []value.Value, passed lua.LimitKind,
	err error) {
	keys, argv, passed := m.arguments()
	if passed != lua.NoLimit {
		return value.Nil, nil, passed, nil
	}
	if m.wanted == "" {
		m.st.SetList(m.keys, keys)
		m.st.SetList(m.argv, argv)
		return m.st.Main(chunk), nil, lua.NoLimit, nil
	}
	if err := m.register(chunk); err != nil {
		return value.Nil, nil, lua.NoLimit, err
	}
	m.pair = [2]value.Value{value.OfTable(m.st.Heap.TableOf(&keys)), value.OfTable(m.st.Heap.TableOf(&argv))}
	return m.callback, m.pair[:], lua.NoLimit, nil
}

// emptyID is the ID of the empty script, which is known without being learned.
var emptyID = engine.SourceID(sha1.Sum(nil))

// LightSteps is the largest number of steps of a light run: half a millisecond or less.
const LightSteps = 10_000

// isEmpty reports whether a hash names the empty script.
func isEmpty(hash []byte) bool {
	id, ok := engine.ParseSourceID(hash)
	return ok && id == emptyID
}
