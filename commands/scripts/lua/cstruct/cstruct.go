// Package cstruct has the library struct of Redis' scripts: binary records of numbers and
// strings, with the sizes of C on 64-bit machines.
package cstruct

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/value"
)

// Open adds the global table struct.
func Open(env *lua.Env) {
	t := env.NewTable()
	env.Register(t, &lua.Function{Name: "pack", One: pack}, &lua.Function{Name: "unpack", Many: unpack},
		&lua.Function{Name: "size", One: size})
	env.Set("struct", value.OfTable(t))
}

// maxInteger is the largest size of an integer, and defaultAlign the alignment of "!".
const (
	maxInteger   = 32
	defaultAlign = 8
)

// A format is a format string while it is read. It ends at its first byte 0.
type format struct {
	st    *lua.State
	text  []byte
	at    int
	big   bool
	align int
}

func newFormat(st *lua.State, args []value.Value) format {
	text := st.Text(args, 0)
	st.Prepay(len(text) / 64)
	if i := bytes.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	return format{st: st, text: text, align: 1}
}

// next reads an option and its size, and returns the padding before it at an offset.
func (f *format) next(offset int) (option byte, size, padding int) {
	f.st.Charge(1)
	option = f.text[f.at]
	f.at++
	switch option {
	case 'b', 'B', 'x':
		size = 1
	case 'h', 'H':
		size = 2
	case 'l', 'L', 'T', 'd':
		size = 8
	case 'f':
		size = 4
	case 'c':
		return option, f.number(1), 0
	case 'i', 'I':
		if size = f.number(4); size > maxInteger {
			f.st.Errorf("integral size %d is larger than limit of %d", size, maxInteger)
		}
	}
	if size > 0 {
		unit := min(size, f.align)
		padding = (unit - offset&(unit-1)) & (unit - 1)
	}
	return option, size, padding
}

// digitsPerStep is the number of digits that are read in a step.
const digitsPerStep = 8

// number reads a number after an option.
func (f *format) number(missing int) int {
	if f.at >= len(f.text) || !isDigit(f.text[f.at]) {
		return missing
	}
	n := 0
	for ; f.at < len(f.text) && isDigit(f.text[f.at]); f.at++ {
		if f.at%digitsPerStep == 0 {
			f.st.Prepay(1)
		}
		if n = 10*n + int(f.text[f.at]-'0'); n > math.MaxInt32 {
			f.st.Errorf("integral size overflow")
		}
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// control applies an option that stands for no value.
func (f *format) control(option byte) {
	switch option {
	case ' ':
	case '>':
		f.big = true
	case '<':
		f.big = false
	case '!':
		n := f.number(defaultAlign)
		if n <= 0 || n&(n-1) != 0 {
			f.st.Errorf("alignment %d is not a power of 2", n)
		}
		f.align = n
	default:
		f.st.ArgError(0, fmt.Sprintf("invalid format option '%c'", rune(option)))
	}
}

func pack(st *lua.State, args []value.Value) value.Value {
	f := newFormat(st, args)
	padded := st.Room(len(args) + 1) // a missing argument is nil, as in Redis
	copy(padded, args)
	padded[len(args)] = value.Nil
	args = padded
	buffer := st.Buffer()
	for arg := 1; f.at < len(f.text); {
		option, size, padding := f.next(len(buffer))
		buffer = append(buffer, make([]byte, padding)...)
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			buffer = f.appendInteger(buffer, st.Number(args, arg), size)
			arg++
		case 'x':
			buffer = append(buffer, 0)
		case 'f':
			buffer = f.order().AppendUint32(buffer, math.Float32bits(float32(st.Number(args, arg))))
			arg++
		case 'd':
			buffer = f.order().AppendUint64(buffer, math.Float64bits(st.Number(args, arg)))
			arg++
		case 'c', 's':
			s := st.Text(args, arg)
			arg++
			if size == 0 {
				size = len(s)
			}
			if len(s) < size {
				st.ArgError(arg, "string too short")
			}
			buffer = st.Append(buffer, s[:size])
			if option == 's' {
				buffer = append(buffer, 0)
			}
		default:
			f.control(option)
		}
		st.CheckRoom(len(buffer))
	}
	v := st.NewString(buffer)
	st.Release(buffer)
	return v
}

// order returns the byte order.
func (f *format) order() binary.AppendByteOrder {
	if f.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// appendInteger appends an integer. Bytes beyond its 64 bits are 0.
func (f *format) appendInteger(buffer []byte, x float64, size int) []byte {
	n := number.ToUint(x)
	if x < 0 {
		n = uint64(number.ToInt(x))
	}
	start := len(buffer)
	for range size {
		buffer = append(buffer, byte(n))
		n >>= 8
	}
	if f.big {
		reverse(buffer[start:])
	}
	return buffer
}

func reverse(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

func unpack(st *lua.State, args []value.Value) []value.Value {
	f := newFormat(st, args)
	data := st.Text(args, 1)
	offset := st.OptInt(args, 2, 1)
	if offset < 1 {
		st.ArgError(2, "offset must be 1 or greater")
	}
	at := int(min(offset-1, int64(len(data))+1))
	check := func(size int) {
		if size > len(data) || at > len(data)-size {
			st.ArgError(1, "data string too short")
		}
	}
	results := st.Room(min(len(f.text), maxStack) + 1)[:0] // an option has a result at most
	for f.at < len(f.text) {
		option, size, padding := f.next(at)
		at += padding
		check(size)
		if len(results)+2+len(args) > maxStack {
			st.Errorf("stack overflow (too many results)")
		}
		st.Heap.Charge(valueSize)
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			results = append(results, value.Number(f.integer(data[at:at+size], option >= 'a')))
		case 'x':
		case 'f':
			results = append(results, value.Number(float64(math.Float32frombits(f.bytes().Uint32(data[at:])))))
		case 'd':
			results = append(results, value.Number(math.Float64frombits(f.bytes().Uint64(data[at:]))))
		case 'c':
			if size == 0 {
				results, size = f.previous(results)
				check(size)
			}
			results = append(results, st.NewString(data[at:at+size]))
		case 's':
			end := bytes.IndexByte(data[at:], 0)
			st.Prepay(end / 64)
			if end < 0 {
				st.Prepay((len(data) - at) / 64)
				st.Errorf("unfinished string in data")
			}
			results = append(results, st.NewString(data[at:at+end]))
			size = end + 1
		default:
			f.control(option)
		}
		at += size
	}
	return append(results, value.Number(float64(at+1)))
}

// maxStack is the number of values that a function of C may have on its stack, and
// valueSize the memory that is counted for one.
const (
	maxStack  = 8000
	valueSize = 24
)

// previous takes the last result as a size.
func (f *format) previous(results []value.Value) ([]value.Value, int) {
	if len(results) > 0 {
		last := len(results) - 1
		if x, ok := f.st.LookNumber(results[last]); ok {
			n := number.ToUint(x)
			return results[:last], int(min(n, math.MaxInt32))
		}
	}
	f.st.Errorf("format 'c0' needs a previous size")
	return nil, 0
}

// bytes returns the byte order for reading.
func (f *format) bytes() binary.ByteOrder {
	if f.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// integer reads an integer. Only its lowest 8 bytes count.
func (f *format) integer(b []byte, signed bool) float64 {
	n := uint64(0)
	for i := range b {
		if f.big {
			n = n<<8 | uint64(b[i])
		} else {
			n = n<<8 | uint64(b[len(b)-1-i])
		}
	}
	if !signed {
		return float64(n)
	}
	mask := ^uint64(0) << (uint(len(b)*8-1) & 63)
	if n&mask != 0 {
		n |= mask
	}
	return float64(int64(n))
}

func size(st *lua.State, args []value.Value) value.Value {
	f := newFormat(st, args)
	total := 0
	for f.at < len(f.text) {
		option, size, padding := f.next(total)
		switch {
		case option == 's':
			st.ArgError(0, "option 's' has no fixed size")
		case option == 'c' && size == 0:
			st.ArgError(0, "option 'c0' has no fixed size")
		case !isDigit(option) && (option|0x20 < 'a' || option|0x20 > 'z'):
			f.control(option)
		}
		total += padding + size
	}
	return value.Number(float64(total))
}
