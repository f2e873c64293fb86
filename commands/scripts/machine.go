package scripts

import (
	"limitsrv/commands/limiters"
	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/value"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// A machine runs scripts, one at a time.
type machine struct {
	st         *lua.State
	keys, argv int // variables
	tx         *engine.Tx
	run        *engine.Call

	looks    bool
	declared bool // only the given keys may be touched
	given    [][]byte
	found    int             // index into given of the key that was found last
	protocol answer.Protocol // of the values that redis.call returns
	tables   int             // in the answer so far
	fixed    int             // bytes counted for the answer besides its content
	perValue int             // bytes counted for each value besides its content
	over     bool            // a text did not fit, so the answer ends before it
	left     int64           // steps for the answer
	// published is the size of the messages so far, in bytes.
	published int
	added     int // bytes that commands may have added to the state

	loading                         bool           // code of a library outside of its functions runs
	registered                      []registration // functions registered so far
	registeredBytes, mostRegistered int            // their memory, and its bound
	wanted                          string         // name of the function to run; empty: keep all
	callback                        value.Value    // of the function wanted
	pair                            [2]value.Value // arguments of callback

	words     [][]byte // of redis.call: name and arguments
	mostWords int      // in any call since forget
	wordBytes int      // in all of them
	numbers   []byte   // texts of those that are numbers
	answer    []byte
	limits    limiters.Caller
	// counts are the counts of the commands of a batch, by command.counter, and counted the commands
	// that have some.
	counts  [engine.MaxCounted]engine.CommandCount
	counted []uint16
}

// arguments returns lists of the keys and of the arguments of the run, or the limit that they
// pass.
func (m *machine) arguments() (keys, argv value.List, passed lua.LimitKind) {
	args, heap := m.run.Args, m.st.Heap
	n, _ := KeyCount(args[hashArg:])
	args = args[firstKeyArg:]
	m.given, m.found = args[:n], 0
	keys, argv, ok := heap.NewLists(args, n)
	switch {
	case ok:
		return keys, argv, lua.NoLimit
	case heap.Left() < 0:
		return keys, argv, lua.MemoryLimit
	}
	return keys, argv, lua.StepLimit
}

// maxKeptAnswer and maxKeptWords are the largest capacities of an answer and of words that
// a machine keeps for the next run.
const (
	maxKeptAnswer = 64 << 10
	maxKeptWords  = 64
)

// forget adds the counts of the runs, and drops the references to them.
func (m *machine) forget() {
	m.addCounts()
	m.tx, m.run, m.given = nil, nil, nil
	m.wanted, m.callback, m.pair = "", value.Nil, [2]value.Value{}
	clear(m.registered)
	if cap(m.words) > maxKeptWords {
		m.words, m.mostWords = nil, 0
	}
	clear(m.words[:m.mostWords])
	m.mostWords = 0
	if cap(m.answer) > maxKeptAnswer {
		m.answer = nil
	}
}

// mayTouch reports whether the keys of a command with some arguments are given keys.
func (m *machine) mayTouch(c *command, args [][]byte) bool {
	first, end, step := c.Keys.Span(args)
	if c.Keys.Once > 0 && m.tx.Level() >= spec.OnceLevel {
		if at := spec.OnceAt(args); at+1 >= c.Keys.Once && !m.isGiven(args[at+1]) { // args have no name
			return false
		}
	}
	for i := first; i < end; i += step {
		if !m.isGiven(args[i]) {
			return false
		}
	}
	return true
}

// reaches reports whether the run may touch all keys of a command with m.words, see
// engine.Tx.Reaches.
func (m *machine) reaches(c *command) bool {
	for key := range c.Keys.In(m.words).All(m.words) {
		if !m.tx.Reaches(key) {
			return false
		}
	}
	return true
}

// givenPerStep is the number of given keys that are compared with a key in a step.
const givenPerStep = 8

// isGiven reports whether key is one of the given keys, by comparing addresses: only an equal key
// of the same run has the same address. Cost: linear in the given keys. It takes a comparison or
// two if a script uses its keys in order, or the same key again.
func (m *machine) isGiven(key []byte) bool {
	n := len(m.given)
	for hops := range n {
		i := m.found + hops
		if i >= n {
			i -= n
		}
		if k := m.given[i]; len(k) == len(key) && (len(k) == 0 || &k[0] == &key[0]) {
			m.found = i
			m.st.Prepay(hops / givenPerStep)
			return true
		}
	}
	m.st.Prepay(n / givenPerStep)
	return false
}
