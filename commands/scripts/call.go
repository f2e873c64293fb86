package scripts

import (
	"math"
	"slices"
	"strconv"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/value"
	"limitsrv/commands/spec"
	"limitsrv/engine/answer"
	"limitsrv/engine/values/numbers"
)

func machineOf(st *lua.State) *machine { return st.Embedder.(*machine) }

// callFunction makes redis.call or redis.pcall. A call with a constant name looks it up when
// it is compiled.
func callFunction(name string, raises bool) *lua.Function {
	bound := make(map[*command]*lua.Function, len(commands))
	for _, c := range commands {
		bound[c] = one(name, redisCall(c, raises))
	}
	f := one(name, redisCall(nil, raises))
	f.Bind = func(first *value.String) *lua.Function { return bound[findCommand(first.Bytes())] }
	return f
}

// redisCall returns redis.call or redis.pcall; known is nil if the command is looked up at each call.
func redisCall(known *command, raises bool) func(st *lua.State, args []value.Value) value.Value {
	return func(st *lua.State, args []value.Value) value.Value {
		m, c := machineOf(st), known
		if m.loading {
			st.Errorf(texts.MissingGlobal, "call")
		}
		if wrong := m.take(args); wrong != "" {
			return m.wrong(errorTable(st, wrong), raises)
		}
		if c == nil {
			c = findCommand(m.words[0])
		}
		if wrong := m.permit(c); wrong != "" {
			m.reject(c)
			return m.wrong(replyError(st, []byte(wrong)), raises)
		}
		n := m.count(c)
		n.Calls++
		if c.call != nil && c.call.Integer != nil {
			if n, ok := c.call.Integer(m.tx, m.words[1:]); ok {
				st.Charge(int(m.tx.TakeWork()))
				return value.Number(float64(n))
			}
		}
		m.perform(c)
		if n, _, ok := answer.TakeInt(m.answer); ok {
			return value.Number(float64(n))
		}
		if b, _, ok := answer.TakeBulk(m.answer); ok {
			return st.NewString(b)
		}
		v, rest, _ := answer.Next(m.answer)
		if v.Kind == answer.Error {
			n.Failed++
			return m.wrong(replyError(st, v.Bytes), raises)
		}
		result, _ := m.value(&v, rest)
		return result
	}
}

// wrong returns the table of an error, or raises it.
func (m *machine) wrong(table value.Value, raises bool) value.Value {
	if raises {
		m.st.Raise(table)
	}
	return table
}

// take makes words of arguments.
func (m *machine) take(args []value.Value) (wrong string) {
	if len(args) == 0 {
		return "ERR Please specify at least one argument for this redis lib call"
	}
	m.st.Prepay(len(args) / argsPerStep)
	words, size := slices.Grow(m.words[:0], len(args))[:len(args)], 0
	m.words, m.numbers, m.mostWords = words, m.numbers[:0], max(m.mostWords, len(args))
	for i := range args {
		if s, ok := args[i].String(); ok {
			words[i] = s.Bytes()
			size += s.Len()
			continue
		}
		if !args[i].IsNumber() {
			return "ERR Lua redis lib command arguments must be strings or integers"
		}
		m.st.Prepay(stepsPerNumber)
		from := len(m.numbers)
		m.numbers = appendNumber(m.numbers, args[i].Float())
		words[i] = m.numbers[from:len(m.numbers):len(m.numbers)]
		size += len(m.numbers) - from
	}
	m.wordBytes = size
	return ""
}

// maxWhole is the largest number that appendNumber writes as a whole number.
const maxWhole = 1 << 52

// appendNumber appends a number as an argument of a command.
func appendNumber(dst []byte, x float64) []byte {
	if x > -maxWhole && x <= maxWhole && x == math.Trunc(x) {
		return strconv.AppendInt(dst, int64(x), 10)
	}
	if math.IsNaN(x) {
		return number.Append(dst, x) // with its sign
	}
	return numbers.AppendDouble(dst, x)
}

const (
	// argsPerStep is the number of arguments that are converted to words in a step, before the
	// command is looked up. stepsPerNumber is the number of additional steps for an argument that
	// is a number.
	argsPerStep    = 8
	stepsPerNumber = 2
	// stepsPerCommand is the number of steps that count for a command, and stepsPerWord that for
	// each of its words, besides their bytes.
	stepsPerCommand = 12
	stepsPerWord    = 4
	// bytesPerStep is the number of bytes of an answer that count as a step.
	// wordBytesPerStep is the same for words, which are dear because they may be stored: a script
	// can pass the bound of memory by its budget of them.
	bytesPerStep     = 64
	wordBytesPerStep = 16
)

// Redis' errors about the name and the number of words of a command.
const (
	unknownCommand = "ERR Unknown Redis command called from script"
	wrongArity     = "ERR Wrong number of args calling Redis command from script"
)

// permit counts a command with m.words, and returns the error if it must not be carried out.
func (m *machine) permit(c *command) (wrong string) {
	switch level := m.tx.Level(); {
	case c == nil || c.isNewer(level):
		return unknownCommand
	case c.isForbidden(level):
		return "ERR This Redis command is not allowed from script"
	case len(m.words) < c.least || c.isTooLong(len(m.words), level):
		return wrongArity
	case m.looks && c.writes():
		return "ERR Write commands are not allowed from read-only scripts."
	case c.Flags&spec.Reaches != 0 && m.tx.Divided():
		return "ERR a script sends messages only in a cluster of one group"
	}
	m.st.Charge(stepsPerCommand + stepsPerWord*len(m.words) + m.wordBytes/wordBytesPerStep)
	if m.declared && (c.own == nil || c.Keys.Step > 0) && !m.mayTouch(c, m.words[1:]) {
		return "ERR Script attempted to access a key that it has not declared"
	}
	if m.tx.Divided() && !m.reaches(c) {
		return "ERR Script attempted to access keys that do not hash to the same slot"
	}
	return ""
}

// perform carries out a permitted command with m.words; its answer is m.answer.
func (m *machine) perform(c *command) {
	m.answer = m.answer[:0]
	switch {
	case c.own != nil:
		m.answer = c.own.do(m, m.answer)
		return
	case c.limit != nil:
		m.answer = m.limits.Do(m.tx, c.limit, m.words, m.answer)
	default:
		m.answer = datatypes.Do(m.tx, c.Command, m.words[1:], m.answer)
	}
	work := int(m.tx.TakeWork())
	m.st.Charge(work + len(m.answer)/bytesPerStep)
	if c.writes() && m.st.Heap.Prepaid {
		m.add(m.wordBytes + work*addedPerWork)
	}
}

const (
	// maxAdded bounds the bytes that the commands of a run may add to the state. The memory bound
	// of the engine is checked only between the calls of a log, so that nodes agree. With the
	// default budget of steps a run ends earlier.
	maxAdded = 256 << 20
	// addedPerWork is the number of bytes that a unit of a command's work may add.
	addedPerWork = 16
)

// add counts bytes that a command may have added to the state. Above maxAdded it ends the run.
func (m *machine) add(n int) {
	if m.added += n; m.added > maxAdded {
		m.st.PrepayMemory(int(m.st.Heap.Left()) + 1)
	}
}

// checkCommand is redis.acl_check_cmd. The rights of a user are known to one node only, so a
// script cannot depend on them, and all commands are permitted.
func checkCommand(st *lua.State, args []value.Value) value.Value {
	m := machineOf(st)
	if wrong := m.take(args); wrong != "" {
		raise(st, wrong)
	}
	if c := findCommand(m.words[0]); c == nil || c.isNewer(m.tx.Level()) {
		raise(st, "ERR Invalid command passed to redis.acl_check_cmd()")
	}
	return value.True
}
