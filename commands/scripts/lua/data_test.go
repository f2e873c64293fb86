package lua_test

import (
	"fmt"
	"strings"
)

// data returns a script that uses cjson, struct or bit.
func (g *generator) data() string {
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("local ok, v = pcall(cjson.decode, %s) return {tostring(ok), type(v) == 'table' and "+
			"cjson.encode(v) or tostring(v)}", luaString(g.json(0)))
	case 1:
		return fmt.Sprintf("local c, a, b, d, e = {}, {}, {} return {pcall(cjson.encode, %s)}", g.value(0))
	case 2:
		return fmt.Sprintf("local r = {} for _, v in ipairs({pcall(bit.%s, %s)}) do r[#r + 1] = tostring(v) end return r",
			pick(g, []string{"band", "bor", "bxor", "bnot", "lshift", "rshift", "arshift", "rol", "ror", "bswap", "tobit",
				"tohex"}), g.constants(3))
	}
	layout := g.layout()
	return fmt.Sprintf(`local ok, s = pcall(struct.pack, %q, %s)
local r = {tostring(ok), s}
local function add(...) for i = 1, select("#", ...) do r[#r + 1] = tostring((select(i, ...))) end end
add(pcall(struct.unpack, %q, s, %s)) add(pcall(struct.unpack, %q, %s)) add(pcall(struct.size, %q)) return r`,
		layout, g.constants(5), layout, pick(g, []string{"1", "1", "2", "0", "nil"}), g.layout(), luaString(g.noise(30)),
		layout)
}

// constants are numbers and strings.
func (g *generator) constants(most int) string {
	list := make([]string, 1+g.IntN(most))
	for i := range list {
		list[i] = pick(g, []string{pick(g, numbers), pick(g, numbers), pick(g, texts), "'abcdefgh'"})
	}
	return strings.Join(list, ", ")
}

// value is a constant or a table of such.
func (g *generator) value(depth int) string {
	if depth > 3 || g.IntN(2) == 0 {
		return pick(g, []string{pick(g, numbers), pick(g, texts), "true", "false", "nil", "cjson.null"})
	}
	var fields []string
	for range g.IntN(5) {
		fields = append(fields, pick(g, []string{"", "", "k = ", "name = ", "[5] = ", "[1] = ", "[" + pick(g, texts) + "] = ",
			"[1.5] = ", "[30] = "})+g.value(depth+1))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func (g *generator) layout() string {
	var b strings.Builder
	for range 1 + g.IntN(5) {
		b.WriteString(pick(g, []string{
			"b", "B", "h", "H", "l", "L", "i", "I", "i3", "I5", "i8", "i1", "f", "d", "s", "c0", "c3", "c", "x", ">", "<", "!",
			"!4", "!2", " ", "Bc0", "T", "i16", "I12", "i40", "!3", "z", "%",
		}))
	}
	return b.String()
}

// json is a text that is JSON, or nearly.
func (g *generator) json(depth int) string {
	if g.IntN(30) == 0 {
		return pick(g, []string{"", ",", "]", "}", ":", "\"", "tru", "\\", "nul", "{", "["})
	}
	space := pick(g, []string{"", "", "", " ", "\n\t"})
	if depth > 3 || g.IntN(2) == 0 {
		return space + pick(g, []string{
			"1", "-2.5", "1e5", "0", "-0", "12345678901234567890", "0.1", "true", "false", "null", `"a"`, `""`, `"a\nb"`,
			`"\u00e9"`, `"\ud83d\ude00"`, `"\"\\\/"`, `"é"`, "1e400", "01", "+1", "nan", "0x1f",
			`"\u0000"`, "[]", "{}", "1.", ".5", "-", `"\x"`, `"\u12`, "inf", "1E-2", "5e-324",
		})
	}
	var parts []string
	object := g.IntN(2) == 0
	for range g.IntN(4) {
		part := g.json(depth + 1)
		if object {
			part = pick(g, []string{`"a"`, `"b"`, `"1"`, `"key"`, `"long name"`}) + space + ":" + part
		}
		parts = append(parts, part)
	}
	list := strings.Join(parts, ","+space)
	if object {
		return "{" + list + "}"
	}
	return "[" + list + space + "]"
}

func (g *generator) noise(most int) string {
	b := make([]byte, g.IntN(most))
	for i := range b {
		b[i] = pick(g, []byte{0, 1, 2, 'a', 'b', 127, 128, 255, byte(g.IntN(256))})
	}
	return string(b)
}

// luaString writes a string as a constant of Lua.
func luaString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		fmt.Fprintf(&b, "\\%03d", s[i])
	}
	b.WriteByte('"')
	return b.String()
}
