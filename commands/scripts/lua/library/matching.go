package library

import (
	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/pattern"
	"limitsrv/commands/scripts/lua/value"
)

// A matching is the match of a pattern in a run.
type matching struct {
	pattern.Matcher
	st    *lua.State
	text  []byte
	skip  int // of the pattern: the anchor
	held  int // bytes of a buffer that waits for a call
	steps int64
}

// matchingSlot is the place of the matching that each state reuses.
const matchingSlot = lua.LibrarySlot

// newMatching prepares a match. done must be called at its end.
func newMatching(st *lua.State, text, wanted []byte) *matching {
	slot := st.Data(matchingSlot)
	m, ok := (*slot).(*matching)
	if !ok || m.st != nil {
		m = &matching{}
		m.Exceeded = m.exceeded
		m.Fail = func(message string) { m.fail(message) }
		*slot = m
	}
	st.Prepay(len(wanted) / 64)
	m.st, m.text, m.Prepaid = st, text, st.Heap.Prepaid
	m.Init(text, wanted)
	m.skip = 0
	m.resume()
	return m
}

// resume takes the steps of the run, and pause gives the rest back for a call. The buffer waits for
// its end.
func (m *matching) resume() {
	m.release()
	m.steps = m.st.StepsLeft()
	m.Left = m.steps
}

func (m *matching) pause(buffer []byte) {
	used := m.steps - m.Left
	m.steps = m.Left
	m.st.Charge(int(used))
	m.held = len(buffer)
	m.st.Heap.Hold(m.held)
}

// release ends the wait of the buffer.
func (m *matching) release() {
	m.st.Heap.Hold(-m.held)
	m.held = 0
}

// done ends the match.
func (m *matching) done() {
	if st := m.st; st != nil {
		m.release()
		m.st, m.text = nil, nil
		m.Init(nil, nil)
		st.Charge(int(m.steps - max(0, m.Left)))
	}
}

func (m *matching) exceeded() {
	st := m.st
	m.st = nil
	st.Charge(int(m.steps) + 1)
}

func (m *matching) fail(message string) {
	st := m.st
	m.done()
	st.Errorf("%s", message)
}

// first finds the first match from an index on. end is -1 if nothing matches.
func (m *matching) first(from int) (start, end int) {
	if m.Anchored() {
		m.skip = 1
		return from, m.At(from, 1)
	}
	for start = from; start <= len(m.text); start++ {
		m.Left--
		if end := m.At(start, 0); end >= 0 {
			return start, end
		}
	}
	return 0, -1
}

// capture returns a capture as a value.
func (m *matching) capture(i, start, end int) value.Value {
	from, to, isPosition := m.Capture(i, start, end)
	if isPosition {
		return value.Number(float64(from + 1))
	}
	return value.OfString(m.st.Heap.Adopt(m.text[from:to:to]))
}

// captures returns all captures, or the match if there are no captures.
func (m *matching) captures(start, end int) []value.Value {
	results := m.st.Room(m.Captures())
	for i := range results {
		results[i] = m.capture(i, start, end)
	}
	return results
}

func gmatch(st *lua.State, args []value.Value) value.Value {
	text, wanted := st.Text(args, 0), st.Text(args, 1)
	at := 0
	return st.NewFunction(&lua.Function{Name: "gmatch_aux", Many: func(st *lua.State, _ []value.Value) []value.Value {
		m := newMatching(st, text, wanted)
		defer m.done()
		for start := at; start <= len(text); start++ {
			m.Left--
			end := m.At(start, 0)
			if end < 0 {
				continue
			}
			if at = end; end == start {
				at++
			}
			return m.captures(start, end)
		}
		at = len(text) + 1
		return nil
	}})
}

func gsub(st *lua.State, args []value.Value) []value.Value {
	text, wanted := st.Text(args, 0), st.Text(args, 1)
	most := st.OptInt32(args, 3, len(text)+1)
	replacement := value.Nil
	if len(args) > 2 {
		replacement = args[2]
	}
	switch replacement.Kind() {
	case value.NumberKind, value.StringKind, value.FunctionKind, value.TableKind:
	default:
		st.ArgError(2, "string/function/table expected")
	}
	m := newMatching(st, text, wanted)
	defer m.done()
	anchored := m.Anchored()
	if anchored {
		m.skip = 1
	}
	buffer := st.Buffer()
	n, at := 0, 0
	for n < most {
		m.Left--
		m.prepay(stepsPerTurn)
		end := m.At(at, m.skip)
		if end >= 0 {
			n++
			buffer = m.replace(buffer, replacement, at, end)
		}
		if end > at {
			at = end
		} else if at < len(text) {
			buffer = append(buffer, text[at])
			at++
		} else {
			break
		}
		if anchored {
			break
		}
	}
	m.prepayAdded(buffer, len(text)-at)
	buffer = append(buffer, text[min(at, len(text)):]...)
	return st.Results(finish(st, buffer), value.Number(float64(n)))
}

// stepsPerTurn is the number of steps for each iteration of gsub, besides the steps of the match.
const stepsPerTurn = 4

// prepay charges n steps in a Prepaid run. It ends the run if too few steps are left.
func (m *matching) prepay(n int) {
	if m.Prepaid {
		m.Spend(n)
	}
}

// prepayAdded charges n bytes that are about to be appended to a buffer, in a Prepaid run. It ends
// the run if it has no memory for them.
func (m *matching) prepayAdded(buffer []byte, n int) {
	m.prepay(max(0, n) / 64)
	m.st.PrepayRoom(len(buffer) + n)
}

// replace appends the replacement of a match.
func (m *matching) replace(buffer []byte, replacement value.Value, start, end int) []byte {
	st := m.st
	var v value.Value
	switch replacement.Kind() {
	case value.StringKind, value.NumberKind:
		s, _ := st.ToString(replacement)
		return m.expand(buffer, s.Bytes(), start, end)
	case value.TableKind:
		key := m.capture(0, start, end)
		m.pause(buffer)
		v = st.Index(replacement, key)
	default:
		captures := m.captures(start, end)
		m.pause(buffer)
		v = firstOf(st.Call(replacement, captures))
	}
	m.resume()
	if !v.Truth() {
		return m.add(buffer, m.text[start:end])
	}
	s, ok := st.ToString(v)
	if !ok {
		m.fail("invalid replacement value (a " + v.Kind().String() + ")")
	}
	return m.add(buffer, s.Bytes())
}

// add appends to a result. The memory of the run bounds its size.
func (m *matching) add(buffer, more []byte) []byte {
	m.st.CheckRoom(len(buffer) + len(more))
	m.Left -= int64(len(more) / 64)
	return append(buffer, more...)
}

// expand appends a replacement with %0 to %9 in it.
func (m *matching) expand(buffer, text []byte, start, end int) []byte {
	m.prepay(len(text) / 2)
	m.st.PrepayRoom(len(buffer) + len(text)/2)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '%' {
			buffer = append(buffer, c)
			continue
		}
		i++
		switch {
		case i == len(text):
			buffer = append(buffer, 0) // the end of a string of C
		case text[i] == '0':
			buffer = m.add(buffer, m.text[start:end])
		case text[i] >= '1' && text[i] <= '9':
			from, to, isPosition := m.Capture(int(text[i]-'1'), start, end)
			if isPosition {
				s, _ := m.st.ToString(value.Number(float64(from + 1)))
				buffer = append(buffer, s.Bytes()...)
			} else {
				buffer = m.add(buffer, m.text[from:to])
			}
		default:
			buffer = append(buffer, text[i])
		}
	}
	m.st.CheckRoom(len(buffer))
	return buffer
}
