package lua

import (
	"limitsrv/commands/scripts/lua/syntax"
	"limitsrv/commands/scripts/lua/value"
)

// batch is the number of list elements that Lua evaluates before it stores them.
const batch = 50

// roundSize rounds up the size of a table as the instruction of Lua that makes it does:
// sizes above 15 keep three bits after the first.
func roundSize(n int) int {
	exponent := 0
	for n >= 16 {
		n = (n + 1) >> 1
		exponent++
	}
	return n << exponent
}

// A field is a compiled entry of a table constructor.
type field struct {
	key, value expr // key is nil for a list element
	at         *site
}

// table compiles a table constructor.
func (c *compiler) table(e *syntax.TableExpr) expr {
	var last multi
	fields := make([]field, 0, len(e.Fields))
	elements, uncounted := 0, 0
	for i, entry := range e.Fields {
		if entry.Key == nil && i == len(e.Fields)-1 {
			if last = c.multi(entry.Value); last != nil {
				break
			}
			if _, ok := entry.Value.(*syntax.CallExpr); ok {
				uncounted = 1 // Lua does not know that it has one result
			}
		}
		one := field{at: c.shared(site{line: entry.Line})}
		if entry.Key != nil {
			one.key = c.expr(entry.Key)
		} else {
			elements++
		}
		one.value = c.expr(entry.Value)
		fields = append(fields, one)
	}
	array, hash := max(elements, roundSize(elements-uncounted)), roundSize(len(fields)-elements)
	if elements == len(fields) {
		return arrayOf(fields, last, array)
	}
	return func(f *frame) value.Value {
		t := f.st.Heap.NewTable(array, hash)
		f.fill(t, fields, last)
		return value.OfTable(t)
	}
}

// arrayOf compiles a table of list elements only.
func arrayOf(fields []field, last multi, array int) expr {
	l := list{last: last}
	for _, one := range fields {
		l.exprs = append(l.exprs, one.value)
	}
	if last == nil {
		return func(f *frame) value.Value {
			t := f.st.Heap.NewTable(array, 0)
			for i, e := range l.exprs {
				t.SetInt(f.st.Heap, i+1, e(f))
			}
			return value.OfTable(t)
		}
	}
	return func(f *frame) value.Value {
		st := f.st
		base := st.top
		values := l.all(f)
		t := st.heap.NewTable(array, 0)
		t.Grow(&st.heap, len(values))
		t.Fill(values)
		st.top = base
		return value.OfTable(t)
	}
}

// fill evaluates the entries of a table. List elements wait until there is a batch.
func (f *frame) fill(t *value.Table, fields []field, last multi) {
	st := f.st
	base := st.top
	pending := st.push(batch)
	waiting, stored := 0, 0
	store := func(values []value.Value) {
		t.Grow(&st.heap, stored+len(values))
		for i, v := range values {
			t.SetInt(&st.heap, stored+i+1, v)
		}
		stored += len(values)
	}
	for i := range fields {
		entry := &fields[i]
		if waiting == batch {
			store(pending)
			waiting = 0
		}
		if entry.key == nil {
			pending[waiting] = entry.value(f)
			waiting++
			continue
		}
		k := entry.key(f)
		v := entry.value(f)
		st.checkKey(k, entry.at)
		t.Set(&st.heap, k, v)
	}
	if last == nil {
		store(pending[:waiting])
	} else {
		more := last(f)
		t.Grow(&st.heap, stored+waiting+len(more))
		store(pending[:waiting])
		store(more)
	}
	st.top = base
}
