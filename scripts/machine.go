package scripts

import (
	"limitsrv/answer"
	"limitsrv/datatypes"
	"limitsrv/engine"
	"limitsrv/limiters"
	"limitsrv/lua"
	"limitsrv/lua/value"
)

// A machine runs scripts, one at a time.
type machine struct {
	st         *lua.State
	keys, argv int // variables
	tx         *engine.Tx
	run        *engine.Call

	looks    bool
	declared bool            // only these keys may be touched
	protocol answer.Protocol // of the values that redis.call returns
	tables   int             // in the answer so far
	// published is the size of the messages so far, in bytes.
	published int

	loading    bool           // code of a library outside of its functions runs
	registered []registration // by it
	wanted     string         // name of the function that is to run; empty: all are registered
	callback   value.Value    // of that
	pair       [2]value.Value // its arguments

	call    engine.Call // of redis.call
	words   [][]byte    // its name and arguments
	numbers []byte      // texts of those that are numbers
	indexes []int       // of its keys
	limits  limiters.Caller
}

// arguments returns the tables of the keys and of the arguments of the run, unless they pass
// the limit of memory.
func (m *machine) arguments() (keys, argv value.Value, ok bool) {
	defer func() {
		if caught := recover(); caught != nil {
			if _, full := caught.(value.OutOfMemory); !full {
				panic(caught)
			}
			ok = false
		}
	}()
	args := m.run.Args
	n, _ := KeyCount(args[hashArg:])
	return m.list(args[firstKeyArg : firstKeyArg+n]), m.list(args[firstKeyArg+n:]), true
}

// list makes a table of strings, which share the bytes.
func (m *machine) list(texts [][]byte) value.Value {
	h := m.st.Heap
	t := h.NewTable(len(texts), 0)
	for i, text := range texts {
		t.SetInt(h, i+1, value.OfString(h.Adopt(text)))
	}
	return value.OfTable(t)
}

// maxKeptAnswer is the capacity of an answer up to which a machine keeps it for the next
// run.
const maxKeptAnswer = 64 << 10

// forget drops the references to a run.
func (m *machine) forget() {
	m.tx, m.run = nil, nil
	m.wanted, m.callback, m.pair = "", value.Nil, [2]value.Value{}
	clear(m.registered)
	clear(m.words[:cap(m.words)])
	clear(m.call.Args[:cap(m.call.Args)])
	if cap(m.call.Answer) > maxKeptAnswer {
		m.call.Answer = nil
	}
}

// mayTouch reports whether the keys of m.call, of a command, are declared ones, if they have
// to be.
func (m *machine) mayTouch(c *command) bool {
	if !m.declared {
		return true
	}
	all := false
	if c.limit != nil {
		m.indexes = c.keys.AppendTo(m.indexes[:0], m.call.Args)
	} else {
		m.indexes, all = datatypes.Commands{}.Keys(&m.call, m.indexes[:0])
	}
	if all {
		return false
	}
	n, _ := KeyCount(m.run.Args[hashArg:])
	for _, i := range m.indexes {
		if !isAmong(m.run.Args[firstKeyArg:firstKeyArg+n], m.call.Args[i]) {
			return false
		}
	}
	return true
}

// isAmong reports whether a key is one of some, by its memory: only an equal key of
// the same run can have that.
func isAmong(keys [][]byte, key []byte) bool {
	for _, k := range keys {
		if len(k) == len(key) && (len(k) == 0 || &k[0] == &key[0]) {
			return true
		}
	}
	return false
}
