package scripts

import (
	"crypto/sha1"
	"encoding/binary"
	"sync"

	"limitsrv/answer"
	"limitsrv/engine"
	"limitsrv/lua"
	"limitsrv/lua/value"
)

// maxMemory is the memory of a run in bytes.
const maxMemory = 64 << 20

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
	var s *Script
	if id, ok := ParseID(c.Args[hashArg]); ok {
		if id == emptyID {
			c.Answer = answer.AppendNil(c.Answer)
			return
		}
		s = find(tx, id, modes)
	}
	switch {
	case s == nil:
		c.Answer = answer.AppendError(c.Answer, "NOSCRIPT No matching script. Please use EVAL.")
	case s.wrong != "":
		c.Answer = answer.AppendError(c.Answer, s.wrong)
	case modes&(Looks|Only) == Looks|Only && s.flagged && !s.noWrites:
		c.Answer = answer.AppendError(c.Answer, "ERR Can not execute a script with write flag using *_ro command.")
	default:
		m := machines.Get().(*machine)
		m.tx, m.run, m.looks, m.declared = tx, c, modes&Looks != 0 || s.noWrites, modes&Declared != 0
		m.do(s.chunk)
		m.forget()
		machines.Put(m)
	}
}

// find returns a script, or nil.
func find(tx *engine.Tx, id engine.SourceID, modes Modes) *Script {
	source := tx.AnySource(id)
	if modes&Known == 0 {
		source = tx.Source(id)
	}
	if source == nil {
		return nil
	}
	return Of(source)
}

// do runs a script, or the wanted function of a library, and answers.
func (m *machine) do(chunk *lua.Chunk) {
	c := m.run
	steps, _ := binary.Uvarint(c.Args[stepsArg])
	m.protocol, m.published = answer.RESP2, 0
	m.st.Reset(lua.Limits{Steps: int64(min(steps, maxSteps)), Memory: maxMemory})
	m.st.Seed(int32(m.tx.Random().Uint64()))
	keys, argv, ok := m.arguments()
	if !ok {
		m.fail("ERR "+host().env.LimitText(lua.MemoryLimit, lua.Limits{Memory: maxMemory}), chunkName, 0)
		return
	}
	results, err := m.start(chunk, keys, argv)
	if err != nil {
		m.failWith(err.(*lua.Error))
		return
	}
	v := value.Nil
	if len(results) > 0 {
		v = results[0]
	}
	c.Answer = m.reply(c.Answer, v)
}

// start runs a script, or the wanted function of a library.
func (m *machine) start(chunk *lua.Chunk, keys, argv value.Value) (results []value.Value, err error) {
	if m.wanted == "" {
		m.st.Set(m.keys, keys)
		m.st.Set(m.argv, argv)
		return m.st.Run(chunk)
	}
	if err := m.register(chunk); err != nil {
		return nil, err
	}
	m.pair = [2]value.Value{keys, argv}
	return m.st.RunFunction(m.callback, m.pair[:]...)
}

// maxSteps is the largest budget.
const maxSteps = 1 << 40

// emptyID is the hash of the empty script, which is known without being learned.
var emptyID = engine.SourceID(sha1.Sum(nil))
