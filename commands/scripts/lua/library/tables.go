package library

import (
	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/value"
)

func openTable(env *lua.Env) {
	table(env, "table",
		one("concat", concat), many("foreach", forEach), many("foreachi", forEachIndex),
		one("getn", func(st *lua.State, args []value.Value) value.Value {
			return value.Number(float64(st.Table(args, 0).Len()))
		}),
		one("maxn", maxKey), many("insert", insert), many("remove", remove),
		one("setn", func(st *lua.State, args []value.Value) value.Value {
			st.Table(args, 0)
			st.Errorf("'setn' is obsolete")
			return value.Nil
		}),
		many("sort", sort),
	)
}

// stepsPerText is the number of steps to format a number.
const stepsPerText = 4

func concat(st *lua.State, args []value.Value) value.Value {
	var separator []byte
	if !lua.IsMissing(args, 1) {
		separator = st.Text(args, 1)
	}
	t := st.Table(args, 0)
	from := st.OptInt32(args, 2, 1)
	to := 0
	if lua.IsMissing(args, 3) {
		to = t.Len()
	} else {
		to = st.Int32(args, 3)
	}
	buffer := st.Buffer()
	for i := from; i <= to; i++ {
		st.Charge(1)
		v := t.GetInt(i)
		if s, ok := v.String(); ok {
			buffer = st.Append(buffer, s.Bytes())
		} else if v.IsNumber() {
			st.Prepay(stepsPerText)
			buffer = number.Append(buffer, v.Float())
		} else {
			st.Errorf("invalid value (%s) at index %d in table for 'concat'", v.Kind(), i)
		}
		if i != to {
			buffer = st.Append(buffer, separator)
		}
		st.CheckRoom(len(buffer))
	}
	return finish(st, buffer)
}

func forEach(st *lua.State, args []value.Value) []value.Value {
	t := st.Table(args, 0)
	f := function(st, args, 1)
	st.Charge(t.Size() / 16)
	key := value.Nil
	for guess := 0; ; {
		st.Charge(1)
		cursor, ok := t.Cursor(key, guess)
		if !ok {
			st.ErrorText("invalid key to 'next'")
		}
		var v value.Value
		if key, v, guess = t.Next(cursor); key.IsNil() {
			return nil
		}
		if result := st.Call2(f, key, v); !result.IsNil() {
			return st.Results(result)
		}
	}
}

func forEachIndex(st *lua.State, args []value.Value) []value.Value {
	t := st.Table(args, 0)
	n := t.Len()
	f := function(st, args, 1)
	for i := 1; i <= n; i++ {
		st.Charge(1)
		if result := st.Call2(f, value.Number(float64(i)), t.GetInt(i)); !result.IsNil() {
			return st.Results(result)
		}
	}
	return nil
}

func maxKey(st *lua.State, args []value.Value) value.Value {
	t := st.Table(args, 0)
	st.Charge(t.Size() / 16)
	most := 0.0
	for cursor := 0; ; {
		st.Charge(1)
		var key value.Value
		if key, _, cursor = t.Next(cursor); key.IsNil() {
			return value.Number(most)
		}
		if key.IsNumber() && key.Float() > most {
			most = key.Float()
		}
	}
}

func insert(st *lua.State, args []value.Value) []value.Value {
	t := st.Table(args, 0)
	end := t.Len() + 1
	at := end
	switch len(args) {
	case 2:
	case 3:
		at = st.Int32(args, 1)
		end = max(end, at)
		for i := end; i > at; i-- {
			st.Charge(1)
			setInt(st, t, i, t.GetInt(i-1))
		}
	default:
		st.Errorf("wrong number of arguments to 'insert'")
	}
	setInt(st, t, at, args[len(args)-1])
	return nil
}

// setInt sets an element without metamethods.
func setInt(st *lua.State, t *value.Table, i int, v value.Value) {
	st.CheckWritable(t)
	t.SetInt(st.Heap, i, v)
}

func remove(st *lua.State, args []value.Value) []value.Value {
	t := st.Table(args, 0)
	end := t.Len()
	at := st.OptInt32(args, 1, end)
	if at < 1 || at > end {
		return nil
	}
	removed := t.GetInt(at)
	for ; at < end; at++ {
		st.Charge(1)
		setInt(st, t, at, t.GetInt(at+1))
	}
	setInt(st, t, end, value.Nil)
	return st.Results(removed)
}

// A sorting is a call of table.sort.
type sorting struct {
	st   *lua.State
	t    *value.Table
	less value.Value // or nil
}

func sort(st *lua.State, args []value.Value) []value.Value {
	s := sorting{st: st, t: st.Table(args, 0)}
	n := s.t.Len()
	if !lua.IsMissing(args, 1) {
		s.less = function(st, args, 1)
	}
	s.sort(1, n)
	return nil
}

func (s *sorting) before(a, b value.Value) bool {
	s.st.Charge(1)
	if s.less.IsNil() {
		return s.st.Less(a, b)
	}
	return s.st.Call2(s.less, a, b).Truth()
}

// order swaps two elements if the second is before the first.
func (s *sorting) order(i, j int) bool {
	a, b := s.t.GetInt(i), s.t.GetInt(j)
	if !s.before(b, a) {
		return false
	}
	s.swap(i, j, a, b)
	return true
}

// swap sets element i to b and element j to a.
func (s *sorting) swap(i, j int, a, b value.Value) {
	setInt(s.st, s.t, i, b)
	setInt(s.st, s.t, j, a)
}

// sort sorts the elements from low to high.
//
// Source: quicksort with the median of three, the smaller part first. Which of equal
// elements comes first, and which calls an order function sees, follow Lua 5.1.
func (s *sorting) sort(low, high int) {
	for low < high {
		s.order(low, high)
		if high-low == 1 {
			return
		}
		middle := int((uint(low) + uint(high)) / 2)
		if !s.order(low, middle) {
			s.order(middle, high)
		}
		if high-low == 2 {
			return
		}
		pivot := s.t.GetInt(middle)
		s.swap(middle, high-1, pivot, s.t.GetInt(high-1))
		i := s.partition(low, high, pivot)
		s.swap(high-1, i, s.t.GetInt(high-1), s.t.GetInt(i))
		if i-low < high-i {
			s.sort(low, i-1)
			low = i + 1
		} else {
			s.sort(i+1, high)
			high = i - 1
		}
	}
}

// partition moves elements before the pivot to the left, and returns where it belongs.
func (s *sorting) partition(low, high int, pivot value.Value) int {
	i, j := low, high-1
	for {
		var a, b value.Value
		for i++; ; i++ {
			if a = s.t.GetInt(i); !s.before(a, pivot) {
				break
			}
			if i > high {
				s.st.Errorf("invalid order function for sorting")
			}
		}
		for j--; ; j-- {
			if b = s.t.GetInt(j); !s.before(pivot, b) {
				break
			}
			if j < low {
				s.st.Errorf("invalid order function for sorting")
			}
		}
		if j < i {
			return i
		}
		s.swap(i, j, a, b)
	}
}
