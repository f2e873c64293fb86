package lua

import (
	"math"

	"limitsrv/commands/scripts/lua/value"
)

// An event is an operation that a metatable may have a function for.
type event uint8

const (
	eventIndex event = iota
	eventNewIndex
	eventCall
	eventAdd
	eventSub
	eventMul
	eventDiv
	eventMod
	eventPow
	eventConcat
	eventUnm
	eventEq
	eventLt
	eventLe
)

// eventNames are the keys of the functions in metatables.
var eventNames = func() []*value.String {
	names := []string{
		"__index", "__newindex", "__call", "__add", "__sub", "__mul", "__div", "__mod", "__pow", "__concat", "__unm", "__eq",
		"__lt", "__le",
	}
	keys := make([]*value.String, len(names))
	for i, name := range names {
		keys[i] = value.NewString(name)
	}
	return keys
}()

// handler returns the metamethod of a table, or nil.
func handler(t *value.Table, e event) value.Value {
	meta := t.Meta()
	if meta == nil || meta.Absent(1<<e) {
		return value.Nil
	}
	v := meta.GetString(eventNames[e])
	if v.IsNil() {
		meta.SetAbsent(1 << e)
	}
	return v
}

// Metatable returns the metatable of a value, or nil.
func (st *State) Metatable(v value.Value) *value.Table {
	if t, ok := v.Table(); ok {
		return t.Meta()
	}
	if _, ok := v.String(); ok {
		return st.env.stringMeta
	}
	return nil
}

// metamethod returns the metamethod of any value, or nil.
func (st *State) metamethod(v value.Value, e event) value.Value {
	if t, ok := v.Table(); ok {
		return handler(t, e)
	}
	if meta := st.Metatable(v); meta != nil {
		return meta.GetString(eventNames[e])
	}
	return value.Nil
}

// isFunction reports whether v can be called without a metamethod.
func isFunction(v value.Value) bool {
	switch v.Ref().(type) {
	case *closure, *Function:
		return true
	}
	return false
}

// chargeString counts the work to compare a long string.
func (st *State) chargeString(s *value.String) {
	if s.Len() > longString {
		st.Charge(s.Len() / 64)
	}
}

// chargeKey counts the work to hash and find a key.
func (st *State) chargeKey(key value.Value) {
	if s, ok := key.String(); ok && s.Len() > longString {
		st.Charge(s.Len() / 16)
	}
}

// PrepayKey charges the work to find a key, for Go functions in a Prepaid run.
func (st *State) PrepayKey(key value.Value) {
	if st.heap.Prepaid {
		st.chargeKey(key)
	}
}

// maxChain bounds the tables that an index passes through by metamethods.
const maxChain = 100

// index returns object[key] with metamethods.
func (st *State) index(object, key value.Value, at *site) value.Value {
	for range maxChain {
		var h value.Value
		if t, ok := object.Table(); ok {
			st.chargeKey(key)
			if v := t.Get(key); !v.IsNil() {
				return v
			}
			if h = handler(t, eventIndex); h.IsNil() {
				return value.Nil
			}
		} else if h = st.metamethod(object, eventIndex); h.IsNil() {
			st.typeError("index", object, at)
		}
		if isFunction(h) {
			return st.callHandler(h, at, object, key)
		}
		object = h
	}
	st.errorAt(at, "loop in gettable")
	return value.Nil
}

// Index returns object[key] with metamethods, for functions of Go.
func (st *State) Index(object, key value.Value) value.Value { return st.index(object, key, nowhere) }

// setIndex sets object[key] with metamethods.
func (st *State) setIndex(object, key, v value.Value, at *site) {
	for range maxChain {
		var h value.Value
		if t, ok := object.Table(); ok {
			if t.Frozen() {
				st.errorAt(at, "%s", st.env.texts.ReadOnly)
			}
			st.checkKey(key, at)
			st.chargeKey(key)
			if t.Meta() == nil || !t.Get(key).IsNil() {
				t.Set(&st.heap, key, v)
				return
			}
			if h = handler(t, eventNewIndex); h.IsNil() {
				t.Set(&st.heap, key, v)
				return
			}
			t.Set(&st.heap, key, value.Nil) // Lua adds the key before it looks for the metamethod
		} else if h = st.metamethod(object, eventNewIndex); h.IsNil() {
			st.typeError("index", object, at)
		}
		if isFunction(h) {
			st.callHandler(h, at, object, key, v)
			return
		}
		object = h
	}
	st.errorAt(at, "loop in settable")
}

// checkKey raises an error if a table cannot have a key.
func (st *State) checkKey(key value.Value, at *site) {
	switch {
	case key.IsNil():
		st.errorAt(at, "table index is nil")
	case key.IsNumber() && math.IsNaN(key.Float()):
		st.errorAt(at, "table index is NaN")
	}
}

// RawGet returns t[key] without metamethods.
func (st *State) RawGet(t *value.Table, key value.Value) value.Value {
	st.chargeKey(key)
	return t.Get(key)
}

// RawEqual reports whether two values are equal without metamethods.
func (st *State) RawEqual(a, b value.Value) bool {
	st.chargeKey(a)
	return value.Equal(a, b)
}

// RawSet sets t[key] without metamethods, for functions of Go.
func (st *State) RawSet(t *value.Table, key, v value.Value) {
	st.CheckWritable(t)
	st.chargeKey(key)
	switch {
	case key.IsNil():
		st.ErrorText("table index is nil")
	case key.IsNumber() && math.IsNaN(key.Float()):
		st.ErrorText("table index is NaN")
	}
	t.Set(&st.heap, key, v)
}

// CheckWritable raises an error if a table is frozen, for functions of Go.
func (st *State) CheckWritable(t *value.Table) {
	if t.Frozen() {
		st.ErrorText(st.env.texts.ReadOnly)
	}
}

// equal reports whether two values are equal, with metamethods.
func (st *State) equal(a, b value.Value, at *site) bool {
	if s, ok := a.String(); ok {
		st.chargeString(s)
	}
	if value.Equal(a, b) {
		return true
	}
	x, ok := a.Table()
	if !ok {
		return false
	}
	y, ok := b.Table()
	if !ok {
		return false
	}
	h := handler(x, eventEq)
	if h.IsNil() || !value.Equal(h, handler(y, eventEq)) {
		return false
	}
	return st.callHandler(h, at, a, b).Truth()
}

// less reports whether a < b.
func (st *State) less(a, b value.Value, at *site) bool {
	if a.IsNumber() && b.IsNumber() {
		return a.Float() < b.Float()
	}
	if x, ok := a.String(); ok {
		if y, ok := b.String(); ok {
			st.Charge(min(x.Len(), y.Len()) / 64)
			return x.Less(y)
		}
	}
	if a.Kind() == b.Kind() {
		if h := st.common(a, b, eventLt); !h.IsNil() {
			return st.callHandler(h, at, a, b).Truth()
		}
	}
	st.compareError(a, b, at)
	return false
}

// lessEqual reports whether a <= b.
func (st *State) lessEqual(a, b value.Value, at *site) bool {
	if a.IsNumber() && b.IsNumber() {
		return a.Float() <= b.Float()
	}
	if x, ok := a.String(); ok {
		if y, ok := b.String(); ok {
			st.Charge(min(x.Len(), y.Len()) / 64)
			return !y.Less(x)
		}
	}
	if a.Kind() == b.Kind() {
		if h := st.common(a, b, eventLe); !h.IsNil() {
			return st.callHandler(h, at, a, b).Truth()
		}
		if h := st.common(b, a, eventLt); !h.IsNil() {
			return !st.callHandler(h, at, b, a).Truth()
		}
	}
	st.compareError(a, b, at)
	return false
}

// common returns the metamethod that both values share, or nil.
func (st *State) common(a, b value.Value, e event) value.Value {
	h := st.metamethod(a, e)
	if h.IsNil() || !value.Equal(h, st.metamethod(b, e)) {
		return value.Nil
	}
	return h
}

// Less reports whether a < b with metamethods, for functions of Go.
func (st *State) Less(a, b value.Value) bool { return st.less(a, b, nowhere) }

func (st *State) compareError(a, b value.Value, at *site) {
	if a.Kind() == b.Kind() {
		st.errorAt(at, "attempt to compare two %s values", a.Kind())
	}
	st.errorAt(at, "attempt to compare %s with %s", a.Kind(), b.Kind())
}
