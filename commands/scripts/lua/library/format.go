package library

import (
	"strings"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/value"
)

// maxPlain is a length. From it on, %s without precision takes a string as it is, with its
// bytes 0.
const maxPlain = 100

func format(st *lua.State, args []value.Value) value.Value {
	text := st.Text(args, 0)
	st.Charge(len(text) / 4)
	buffer := st.Buffer()
	arg := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			buffer = append(buffer, text[i])
			continue
		}
		i++
		if i < len(text) && text[i] == '%' {
			buffer = append(buffer, '%')
			continue
		}
		if arg++; arg >= len(args) {
			st.ArgError(arg, "no value")
		}
		var spec number.Spec
		spec, i = parseSpec(st, text, i)
		before := len(buffer)
		buffer = convert(st, buffer, spec, args, arg)
		st.Charge(1 + (len(buffer)-before)/stepOf(spec))
		st.CheckRoom(len(buffer))
	}
	return finish(st, buffer)
}

// stepOf returns the number of bytes that a conversion makes in a step.
func stepOf(spec number.Spec) int {
	if spec.Verb == 's' {
		return 16
	}
	return 4
}

// flags are the flags of a conversion; there may be so many.
const flags = "-+ #0"

// parseSpec parses a conversion after its %. It returns the index of its verb.
func parseSpec(st *lua.State, text []byte, i int) (number.Spec, int) {
	spec := number.Spec{Precision: -1}
	at := func(i int) byte {
		if i < len(text) {
			return text[i]
		}
		return 0
	}
	start := i
	for at(i) != 0 && strings.IndexByte(flags, at(i)) >= 0 {
		switch at(i) {
		case '-':
			spec.Minus = true
		case '+':
			spec.Plus = true
		case ' ':
			spec.Space = true
		case '#':
			spec.Sharp = true
		case '0':
			spec.Zero = true
		}
		i++
	}
	if i-start > len(flags) {
		st.Errorf("invalid format (repeated flags)")
	}
	twoDigits := func() (n int) {
		for end := i + 2; i < end && at(i) >= '0' && at(i) <= '9'; i++ {
			n = 10*n + int(at(i)-'0')
		}
		return n
	}
	spec.Width = twoDigits()
	if at(i) == '.' {
		i++
		spec.Precision = twoDigits()
	}
	if c := at(i); c >= '0' && c <= '9' {
		st.Errorf("invalid format (width or precision too long)")
	}
	spec.Verb = at(i)
	return spec, i
}

// convert appends an argument.
func convert(st *lua.State, buffer []byte, spec number.Spec, args []value.Value, arg int) []byte {
	switch spec.Verb {
	case 'c':
		c := [1]byte{byte(st.Int32(args, arg))}
		return appendC(buffer, spec, c[:])
	case 'd', 'i':
		return spec.AppendInt(buffer, number.ToInt(st.Number(args, arg)))
	case 'o', 'u', 'x', 'X':
		return spec.AppendInt(buffer, int64(number.ToUint(st.Number(args, arg))))
	case 'e', 'E', 'f', 'g', 'G':
		st.Prepay(stepsPerText + max(0, spec.Precision))
		return spec.AppendFloat(buffer, st.Number(args, arg))
	case 'q':
		s := st.Text(args, arg)
		st.Prepay(len(s) / 8)
		st.PrepayRoom(len(buffer) + len(s))
		return quote(buffer, s)
	case 's':
		s := st.Text(args, arg)
		if spec.Precision < 0 && len(s) >= maxPlain {
			return st.Append(buffer, s)
		}
		if spec.Precision >= 0 {
			s = s[:min(len(s), spec.Precision)]
		}
		return spec.AppendText(buffer, []byte(cString(s)))
	}
	verb := ""
	if spec.Verb != 0 {
		verb = string([]byte{spec.Verb})
	}
	st.Errorf("invalid option '%%%s' to 'format'", verb)
	return nil
}

// appendC appends a byte. A byte 0 ends the result, as it is a string of C.
func appendC(buffer []byte, spec number.Spec, c []byte) []byte {
	start := len(buffer)
	buffer = spec.AppendText(buffer, c)
	if c[0] == 0 {
		for i := start; i < len(buffer); i++ {
			if buffer[i] == 0 {
				return buffer[:i]
			}
		}
	}
	return buffer
}

// quote appends a string so that Lua can read it.
func quote(buffer, s []byte) []byte {
	buffer = append(buffer, '"')
	for _, c := range s {
		switch c {
		case '"', '\\', '\n':
			buffer = append(buffer, '\\', c)
		case '\r':
			buffer = append(buffer, `\r`...)
		case 0:
			buffer = append(buffer, `\000`...)
		default:
			buffer = append(buffer, c)
		}
	}
	return append(buffer, '"')
}
