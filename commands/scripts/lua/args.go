package lua

import (
	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/value"
)

// The functions below check arguments of functions of Go, by index from 0. They raise
// errors with the texts of Lua's own library.

// Any returns an argument that must be there.
func (st *State) Any(args []value.Value, i int) value.Value {
	if i >= len(args) {
		st.ArgError(i, "value expected")
	}
	return args[i]
}

// Table returns an argument that must be a table.
func (st *State) Table(args []value.Value, i int) *value.Table {
	if i < len(args) {
		if t, ok := args[i].Table(); ok {
			return t
		}
	}
	st.TypeError(args, i, "table")
	return nil
}

// Number returns an argument that must be a number, or a string that looks like a number.
func (st *State) Number(args []value.Value, i int) float64 {
	if i < len(args) {
		if x, ok := st.ToNumber(args[i]); ok {
			return x
		}
	}
	st.TypeError(args, i, "number")
	return 0
}

// ToNumber converts a string that looks like a number, and returns a number as it is. The
// length of the string counts as steps.
func (st *State) ToNumber(v value.Value) (float64, bool) {
	if s, ok := v.String(); ok && s.Len() >= digitsPerStep {
		st.chargeDigits(s.Len())
	}
	return v.ToNumber()
}

// digitsPerStep is the number of bytes of a number's text that are read in a step.
const digitsPerStep = 8

func (st *State) chargeDigits(n int) {
	st.Charge(n / digitsPerStep)
	st.Prepay(n / digitsPerStep)
}

// LookNumber is ToNumber for functions that count the length of the text as steps in Prepaid runs
// only.
func (st *State) LookNumber(v value.Value) (float64, bool) {
	if st.heap.Prepaid {
		return st.ToNumber(v)
	}
	return v.ToNumber()
}

// longString is a length. Comparing a string of that length takes more time than a step.
const longString = 256

// Int returns a number as a 64-bit integer, as C casts it.
func (st *State) Int(args []value.Value, i int) int64 { return number.ToInt(st.Number(args, i)) }

// OptInt is as Int, with a default for an argument that is nil or missing.
func (st *State) OptInt(args []value.Value, i int, missing int64) int64 {
	if IsMissing(args, i) {
		return missing
	}
	return st.Int(args, i)
}

// Int32 returns a number as a 32-bit integer, as C casts it by way of 64 bits.
func (st *State) Int32(args []value.Value, i int) int { return int(int32(st.Int(args, i))) }

// OptInt32 is as Int32, with a default for an argument that is nil or missing.
func (st *State) OptInt32(args []value.Value, i, missing int) int {
	if IsMissing(args, i) {
		return missing
	}
	return st.Int32(args, i)
}

// Text returns the bytes of a string or number. They must not be changed.
func (st *State) Text(args []value.Value, i int) []byte { return st.StringArg(args, i).Bytes() }

// StringArg returns an argument that must be a string or a number, as a string.
func (st *State) StringArg(args []value.Value, i int) *value.String {
	if i < len(args) {
		if s, ok := st.ToString(args[i]); ok {
			return s
		}
	}
	st.TypeError(args, i, "string")
	return nil
}

// stepsPerText is the number of steps to format a number, besides its memory.
const stepsPerText = 3

// ToString converts a number to a string, and returns a string as it is.
func (st *State) ToString(v value.Value) (*value.String, bool) {
	if s, ok := v.String(); ok {
		return s, true
	}
	if !v.IsNumber() {
		return nil, false
	}
	st.Prepay(stepsPerText)
	var buffer [32]byte
	return st.heap.Copy(number.Append(buffer[:0], v.Float())), true
}

// IsMissing reports whether an argument is nil or missing.
func IsMissing(args []value.Value, i int) bool { return i >= len(args) || args[i].IsNil() }

// Room returns n places for the results of a function.
func (st *State) Room(n int) []value.Value {
	places := st.push(n)
	st.top -= n
	return places
}

// ResultsWith returns v and more values as the results of a function.
func (st *State) ResultsWith(v value.Value, more []value.Value) []value.Value {
	st.Prepay(len(more) / valuesPerStep)
	all := st.Room(1 + len(more))
	copy(all[1:], more)
	all[0] = v
	return all
}

// Results returns values as the results of a function. They may be args itself.
func (st *State) Results(values ...value.Value) []value.Value {
	kept := st.Room(len(values))
	copy(kept, values)
	return kept
}
