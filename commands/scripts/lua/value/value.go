package value

import (
	"limitsrv/commands/scripts/lua/number"
)

// A Value is a value of Lua. The zero value is nil. Values must be compared by Equal.
type Value struct {
	ref any // nil, a tag, *String, *Table, or a pointer to a function
	n   float64
}

type (
	numberTag  struct{}
	booleanTag struct{}
	nullTag    struct{}
)

var (
	// Nil is nil.
	Nil Value
	// True is true.
	True = Value{booleanTag{}, 1}
	// False is false.
	False = Value{booleanTag{}, 0}
	// Null is the light userdata with the address 0, which cjson uses for null.
	Null = Value{ref: nullTag{}}
)

// A Func is a function: Value knows no more of it. The implementation must be a pointer.
type Func interface {
	// Serial returns the number of the function, which replaces its address.
	Serial() uint32
}

// Number returns x as a value.
func Number(x float64) Value { return Value{numberTag{}, x} }

// Bool returns b as a value.
func Bool(b bool) Value {
	if b {
		return True
	}
	return False
}

// OfString returns s as a value. s must not be nil.
func OfString(s *String) Value { return Value{ref: s} }

// OfTable returns t as a value. t must not be nil.
func OfTable(t *Table) Value { return Value{ref: t} }

// OfFunc returns f as a value. f must not be nil.
func OfFunc(f Func) Value { return Value{ref: f} }

// IsNil reports whether v is nil.
func (v Value) IsNil() bool { return v.ref == nil }

// IsNumber reports whether v is a number, not a string that looks like a number.
func (v Value) IsNumber() bool {
	_, ok := v.ref.(numberTag)
	return ok
}

// Float returns the number of a value. Requires: IsNumber.
func (v Value) Float() float64 { return v.n }

// Truth reports whether v counts as true: all but nil and false do.
func (v Value) Truth() bool {
	if _, ok := v.ref.(booleanTag); ok {
		return v.n != 0
	}
	return v.ref != nil
}

// String returns v as a string. ok is false if v is no string; a number is no string.
func (v Value) String() (*String, bool) {
	s, ok := v.ref.(*String)
	return s, ok
}

// Table returns v as a table. ok is false if v is no table.
func (v Value) Table() (*Table, bool) {
	t, ok := v.ref.(*Table)
	return t, ok
}

// Ref returns the pointer of a function, a table or a string; else nil or something of
// no use.
func (v Value) Ref() any { return v.ref }

// Kind returns the type of v.
func (v Value) Kind() Kind {
	switch v.ref.(type) {
	case nil:
		return NilKind
	case booleanTag:
		return BooleanKind
	case nullTag:
		return NullKind
	case numberTag:
		return NumberKind
	case *String:
		return StringKind
	case *Table:
		return TableKind
	}
	return FunctionKind
}

// ToNumber converts v to a number if it is a number, or a string that looks like a number.
func (v Value) ToNumber() (float64, bool) {
	switch ref := v.ref.(type) {
	case numberTag:
		return v.n, true
	case *String:
		return number.Parse(ref.bytes)
	}
	return 0, false
}

// Equal reports whether a and b are equal without metamethods.
func Equal(a, b Value) bool {
	switch x := a.ref.(type) {
	case nil:
		return b.ref == nil
	case numberTag:
		_, ok := b.ref.(numberTag)
		return ok && a.n == b.n
	case *String:
		y, ok := b.ref.(*String)
		return ok && x.Equal(y)
	case booleanTag:
		_, ok := b.ref.(booleanTag)
		return ok && a.n == b.n
	case *Table:
		y, ok := b.ref.(*Table)
		return ok && x == y
	}
	return a.ref == b.ref
}

// index returns v as an integer key of a table.
func (v Value) index() (int, bool) {
	if !v.IsNumber() {
		return 0, false
	}
	i := int(int32(v.n)) // out of range it is any number, and differs
	return i, float64(i) == v.n
}
