package lua

import "limitsrv/commands/scripts/lua/value"

// push takes n slots of the stack. They keep their old contents.
func (st *State) push(n int) []value.Value {
	base := st.top
	st.reserve(n)
	return st.stack[base:st.top:st.top]
}

// reserve is push for a caller that does not need the slots yet.
func (st *State) reserve(n int) {
	if st.top += n; st.top > len(st.stack) {
		st.grow(st.top)
	}
}

// grow makes a larger stack. Slots in use stay where they are: their owners hold slices of
// the old stack.
func (st *State) grow(end int) {
	size := 2 * len(st.stack)
	for size < end {
		size *= 2
	}
	st.heap.Charge((size - len(st.stack)) * slotSize)
	if size <= cap(st.stack) {
		st.stack = st.stack[:size]
		return
	}
	st.stack = make([]value.Value, size)
}

// pushBoxes takes n places for captured variables. They keep their old contents.
func (st *State) pushBoxes(n int) []*box {
	end := st.boxTop + n
	if end > len(st.boxStack) {
		size := max(256, 2*len(st.boxStack), end)
		st.heap.Charge((size - len(st.boxStack)) * referSize)
		if size <= cap(st.boxStack) {
			st.boxStack = st.boxStack[:size]
		} else {
			st.boxStack = make([]*box, size)
		}
	}
	part := st.boxStack[st.boxTop:end:end]
	st.boxTop = end
	return part
}

// newBox makes a captured variable.
func (st *State) newBox(v value.Value) *box {
	st.heap.Charge(boxSize)
	b := st.boxes.One()
	b.v = v
	return b
}

// newClosure makes a function, with room for its upvalues.
func (st *State) newClosure(p *proto, upvalues int) *closure {
	st.heap.Charge(closureSize + referSize*upvalues)
	c := st.closures.One()
	c.proto, c.serial = p, st.heap.NextSerial()
	if upvalues > 0 {
		c.upvalues = st.refs.Take(upvalues)
	}
	return c
}

// valuesPerStep is the number of values that are copied in a step.
const valuesPerStep = 16

// extend pushes more values after the values that were pushed last.
func (st *State) extend(values, more []value.Value) []value.Value {
	n := len(values)
	st.Charge(len(more) / valuesPerStep)
	if start := st.top - n; start+n+len(more) <= len(st.stack) && (n == 0 || &st.stack[start] == &values[0]) {
		st.top += len(more)
		all := st.stack[start:st.top:st.top]
		copy(all[n:], more)
		return all
	}
	all := st.push(n + len(more))
	copy(all[n:], more) // first: more may lie where all is
	copy(all, values)
	return all
}
