package lua_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// prelude defines put, which notes values, and key, which makes keys with the same place
// in a table on both sides: addresses differ.
const prelude = `local out = {}
local function text(v)
	local t = type(v)
	if t == "string" then return '"' .. v .. '"' end
	if t == "table" or t == "function" then return t end
	return tostring(v)
end
local function put(...) for i = 1, select("#", ...) do out[#out + 1] = text((select(i, ...))) end end
local function key(v) local t = type(v) if t == "table" or t == "function" then return t end if v == nil then return 0 end return v end
local a, b, c, d, e = 1, "x", {1, 2, 3}, nil, {k = 1, "y"}
`

// A generator writes random programs.
type generator struct {
	*rand.Rand
	depth int
}

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// program returns segments that are run in order, each protected.
func (g *generator) program() []string {
	segments := make([]string, 1+g.IntN(6))
	for i := range segments {
		segments[i] = "put(pcall(function() " + g.block(1+g.IntN(5)) + " end))"
		if g.IntN(3) == 0 {
			segments[i] = "do " + g.local() + " " + segments[i] + " end"
		}
	}
	return segments
}

func join(segments []string) string { return prelude + strings.Join(segments, "\n") + "\nreturn out" }

func (g *generator) block(n int) string {
	g.depth++
	defer func() { g.depth-- }()
	var list []string
	for range n {
		list = append(list, g.statement())
	}
	return strings.Join(list, pick(g, []string{" ", ";", "\n"}))
}

func (g *generator) name() string { return pick(g, []string{"a", "b", "c", "d", "e"}) }

func (g *generator) local() string {
	if g.IntN(3) == 0 {
		return fmt.Sprintf("local %s, %s = %s", g.name(), g.name(), g.exprs(3))
	}
	return fmt.Sprintf("local %s = %s", g.name(), g.expr())
}

func (g *generator) target() string {
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("%s[key(%s)]", pick(g, []string{"c", "e", "c", "e", "d"}), g.expr())
	case 1:
		return pick(g, []string{"c", "e", "d"}) + "." + pick(g, []string{"k", "x", "n", "long_name"})
	}
	return g.name()
}

func (g *generator) statement() string {
	if g.depth > 4 {
		return "put(" + g.exprs(2) + ")"
	}
	switch g.IntN(18) {
	case 12:
		return g.closure()
	case 13:
		return g.order()
	case 14:
		return fmt.Sprintf("do local t = {} for i = 1, %d do t[%s] = i end %s put(#t, table.maxn(t)) for k, v in pairs(t) "+
			"do put(k, v) end end", g.IntN(40),
			pick(g, []string{"i", "i * 2", "-i", "'k' .. i", "i / 2", "i % 7", "41 - i", "('k'):rep(i)",
				"('long key '):rep(i) .. i", "i * i", "2 ^ i", "i % 2 == 0 and i or 'x' .. i"}),
			pick(g, []string{"", "for i = 1, 10 do t[i] = nil end", "for k in pairs(t) do t[k] = nil end", "t[3] = nil",
				"table.insert(t, 2, 0)", "for i = 30, 20, -1 do t[i] = nil t['y' .. i] = 1 end"}))
	case 0:
		return g.local()
	case 1, 2:
		return g.target() + " = " + g.expr()
	case 3:
		return g.target() + ", " + g.target() + " = " + g.exprs(3)
	case 4:
		return fmt.Sprintf("if %s then %s elseif %s then %s else %s end", g.expr(), g.block(1), g.expr(), g.block(1),
			g.block(1))
	case 5:
		return fmt.Sprintf("for %s = %d, %d, %s do %s %s end", g.name(), g.IntN(5)-2, g.IntN(8),
			pick(g, []string{"1", "2", "0.5", "3"}), g.block(2), g.leave())
	case 6:
		return fmt.Sprintf("for %s, %s in %s do put(%s) %s end", "a", "b", g.iterator(), pick(g, []string{"a, b", "b", "a"}),
			g.leave())
	case 7:
		return fmt.Sprintf("do local n = 0 while n < %d and %s do n = n + 1 %s %s end end", g.IntN(5), g.expr(), g.block(1),
			g.leave())
	case 8:
		return fmt.Sprintf("do local n = 0 repeat local m = n n = n + 1 %s until m >= %d or %s end", g.block(1), g.IntN(4),
			g.expr())
	case 9:
		name := g.name()
		return fmt.Sprintf("local function %s(a, ...) %s return %s end put(pcall(%s, %s))", name, g.flat(), g.exprs(2), name,
			g.exprs(3))
	case 10:
		return fmt.Sprintf("table.%s", pick(g, []string{
			"insert(c, " + g.expr() + ")", "insert(c, " + g.small() + ", " + g.expr() + ")", "remove(c)",
			"remove(c, " + g.small() + ")", "sort(c)",
			"sort(c, function(x, y) return tostring(x) < tostring(y) end)",
		}))
	case 11:
		return "setmetatable(e, {" + g.metamethod() + ", " + g.metamethod() + "})"
	}
	return "put(" + g.exprs(2) + ")"
}

// closure is a statement with functions that share variables.
func (g *generator) closure() string {
	x, y := g.name(), g.name()
	return pick(g, []string{
		fmt.Sprintf("local function up() %s = %s return %s end put(%s + up(), %s .. up(), {%s, up(), %s}, %s == up(), %s < "+
			"up())", x, g.expr(), y, x, x, x, x, x, x),
		fmt.Sprintf("local list = {} for i = 1, 3 do local j = i list[i] = function(d) j = j + d i = i * 2 return i, j end "+
			"end for i = 1, 3 do put(list[i](%s)) put(list[i](1)) end", pick(g, numbers)),
		"local function make(n) local function get() return n end local function set(v) n = v end return get, set end " +
			"local get, set = make(" + g.expr() + ") set(" + g.expr() + ") put(get())",
		"local o = {n = 1} function o:add(d) self.n = self.n + d return self end function o.new(...) return select('#', " +
			"...) end put(o:add(2):add(" + g.expr() + ").n, o.new(" + g.exprs(3) + "), o:new())",
		"local function v(...) local a, b = ... return select('#', ...), a, b, ... end put(v(" + g.exprs(3) + ")) put((v(" +
			g.expr() + ")))",
		"local function w(a, ...) return arg and arg.n, arg and arg[1], a end put(w(" + g.exprs(3) + "))",
		fmt.Sprintf("local function tail(n) if n == 0 then return %s end return tail(n - 1) end put(tail(%d))", g.exprs(2),
			g.IntN(300)),
		"local r repeat local k = " + g.expr() + " r = function() return k end until true put(r())",
		"local n = 0 local t = setmetatable({}, {__index = function(t, k) n = n + 1 return n end}) put(t.a + t.b * t.c, " +
			"t.d .. t.e, t[t.f], n)",
	})
}

// order is a statement that shows the order of evaluation of operands.
func (g *generator) order() string {
	return "local log = {} local function f(x, v) log[#log + 1] = x return v end local t = {} " + pick(g, []string{
		"t[f(1, 'a')], t[f(2, 'b')] = f(3, 1), f(4, 2)", "t = {f(1), [f(2, 'k')] = f(3), f(4), x = f(5)}",
		"t = f(1, 2) + f(2, 3) * f(3, 4)", "t = f(1, 'a') .. f(2, 'b') .. f(3, 'c')",
		"t = f(1, 1) < f(2, 2)", "t = f(1, 1) > f(2, 2)", "t = f(1) or f(2) and f(3)", "f(1, f)(f(2), f(3))",
		"local a, b = f(1), f(2), f(3)", "t.x, t.y = t, f(1)", "t, t.z = f(1, {}), f(2)",
		"local i = 1 i, t[i] = i + 1, 20 put(t[1], t[2])", "local a = {} local b = a a.x, a = 1, {} put(b.x, a.x)",
		"for i = f(1, 1), f(2, 2), f(3, 1) do f(i) end", "t[f(1, 'q')] = f(2, 'v')",
		"local a = {5} a[1], a[2], a = a[2], a[1], 7 put(a)",
		"local s = {} s.a, s.b, s.c = (function() return 1, 2, 3 end)() put(s.a, s.b, s.c)",
		"local s = {(function() return 1, 2, 3 end)(), (function() return 4, 5 end)()} put(#s, unpack(s))",
		"local s = {n = 1, 'a', 'b', n = 2, [1] = 'c', 'd'} put(s.n, s[1], s[2], s[3])",
	}) + " put(type(t), table.concat(log, ','))"
}

// flat is a block that calls nothing of the program's own.
func (g *generator) flat() string {
	depth := g.depth
	g.depth = 9
	defer func() { g.depth = depth }()
	return g.block(1)
}

func (g *generator) leave() string { return pick(g, []string{"", "", "", "if a then break end"}) }

func (g *generator) iterator() string {
	return pick(g, []string{
		"pairs(c)", "pairs(e)", "ipairs(c)", "pairs(" + g.table() + ")", "ipairs(" + g.expr() + ")",
		"pairs(" + g.table() + ")",
		`("k1=v1, k2 = v2"):gmatch("(%w+)%s*=%s*(%w+)")`, "next, e", "next, " + g.table() + ", nil",
	})
}

func (g *generator) metamethod() string {
	return pick(g, []string{
		`__index = function(t, k) return k end`, `__index = {z = 5, k = "meta"}`,
		`__newindex = function(t, k, v) rawset(t, key(k), 1) end`,
		`__add = function(x, y) return 7 end`, `__concat = function(x, y) return "cat" end`,
		`__eq = function(x, y) return true end`,
		`__lt = function(x, y) return true end`, `__le = function(x, y) return false end`,
		`__call = function(t, ...) return ... end`,
		`__unm = function(x) return "neg" end`, `__tostring = function(x) return "object" end`,
		`__mod = function() error("mod") end`,
		`__metatable = "locked"`, `__len = function() return 9 end`,
	})
}

func (g *generator) small() string { return fmt.Sprint(g.IntN(9) - 2) }

var numbers = []string{
	"0", "1", "2", "-1", "3.7", "-0.5", "1e15", "1e14", "123456789012", "0.1", "1e100", "5e-324", "255", "2^31", "2^53",
	"1/0", "-1/0", "0/0",
	"-0", "1e-5", "100", "0x10", "1795162328.123456", "7", "10", "-7", "4294967296", "1e300",
}

var texts = []string{
	`""`, `"x"`, `"abc"`, `"10"`, `" 5 "`, `"0x1F"`, `"1e2"`, `"hello world"`, `"a,b,,c"`, `"nan"`, `"inf"`, `"1.5"`,
	`"a\0b"`, `"-7"`, `'quo"te'`,
	`"line\nline"`, `"%d"`, `"\200\255"`, `[[long]]`, `"THE end"`, `"k"`, `"z"`, `"9007199254740993"`, `"1 2"`,
}

var patterns = []string{
	`"%a+"`, `"(%a)(%w*)"`, `"[^,]*"`, `"()"`, `"%d+$"`, `"^h"`, `"l-o"`, `"[a-c]"`, `"%s"`, `"(h)(.-)o"`, `"%f[%w]%w+"`,
	`"%b()"`, `"[%w_]+"`, `"."`, `""`,
	`"(a*(.)%w(%s*))"`, `"[]]"`, `"[a-"`, `"%"`, `"(x"`, `"%1"`, `"a?b?c?"`, `"[^%s]"`, `"%z"`, `"o+"`, `"(.)%1"`, `"$"`,
	`"x$y"`, `"^^"`, `"[%a-z]"`, `"x)"`,
}

func (g *generator) pattern() string { return pick(g, patterns) }

func (g *generator) exprs(most int) string {
	list := make([]string, 1+g.IntN(most))
	for i := range list {
		list[i] = g.expr()
	}
	return strings.Join(list, ", ")
}

func (g *generator) table() string {
	var fields []string
	for range g.IntN(6) {
		switch g.IntN(4) {
		case 0:
			fields = append(fields, pick(g, []string{"k", "x", "n", "alpha", "beta", "gamma"})+" = "+g.expr())
		case 1:
			fields = append(fields, "[key("+g.expr()+")] = "+g.expr())
		default:
			fields = append(fields, g.expr())
		}
	}
	return "{" + strings.Join(fields, pick(g, []string{", ", "; "})) + "}"
}

func (g *generator) expr() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 7 || g.IntN(3) == 0 {
		return pick(g, []string{pick(g, numbers), pick(g, texts), g.name(), g.name(), "nil", "true", "false"})
	}
	switch g.IntN(12) {
	case 0, 1, 2:
		return "(" + g.expr() + " " +
			pick(g, []string{"+", "-", "*", "/", "%", "..", "..", "==", "~=", "<", "<=", ">", ">="}) + " " + g.expr() + ")"
	case 3:
		return g.expr() + " " + pick(g, []string{"and", "or", "+", "..", "*", "=="}) + " " + g.expr()
	case 4:
		return pick(g, []string{"-", "not ", "#"}) + g.expr()
	case 5:
		return g.table()
	case 6:
		return pick(g, []string{"c", "e", "c", "a", "d"}) +
			pick(g, []string{".k", ".n", "[1]", "[2]", "[key(" + g.expr() + ")]", ".x.y"})
	case 7:
		return "(function(...) return " + g.expr() + ", ... end)(" + g.exprs(2) + ")"
	case 8:
		return "(" + g.expr() + ")^" + pick(g, []string{"2", "0.5", "-1"})
	}
	return g.call()
}

// call returns a call of the library.
func (g *generator) call() string {
	x, s := g.expr(), pick(g, []string{g.expr(), pick(g, texts)})
	switch g.IntN(8) {
	case 0:
		return fmt.Sprintf("string.format(%s, %s, %s)", pick(g, []string{
			`"%d"`, `"%5.2f"`, `"%s|%s"`, `"%q"`, `"%x"`, `"%g"`, `"%-5d|"`, `"%05d"`, `"%+.3e"`, `"%c"`, `"%10s"`, `"%.2s"`,
			`"%i%%"`, `"%u"`, `"%o"`, `"%y"`, `"%#x"`, `"%.14g"`, `"% d"`,
			`"%5.1s|"`, `"%.0f"`, `"%#.0f"`, `"%G"`,
		}), x, g.expr())
	case 1:
		return fmt.Sprintf("string.%s(%s, %s%s)", pick(g, []string{"find", "match"}), s, g.pattern(),
			pick(g, []string{"", ", " + g.small(), ", 1, true"}))
	case 2:
		return fmt.Sprintf("string.gsub(%s, %s, %s)", s, g.pattern(), pick(g, []string{`"%0%0"`, `"<%1>"`, `"%%"`, `""`,
			"string.upper", "e", `function(x) return x == "a" and "A" end`, g.expr(), `"x", 1`}))
	case 3:
		return fmt.Sprintf("string.%s(%s)", pick(g, []string{"len", "upper", "lower", "reverse", "byte"}), s)
	case 4:
		return fmt.Sprintf("string.%s(%s, %s, %s)", pick(g, []string{"sub", "byte"}), s, g.small(), g.small())
	case 5:
		return fmt.Sprintf("math.%s(%s)",
			pick(g, []string{"floor", "ceil", "abs", "sqrt", "max", "min", "modf", "frexp", "deg", "log10"}), x)
	case 6:
		return pick(g, []string{
			"tonumber(" + s + ")", "tonumber(" + s + ", " + pick(g, []string{"2", "8", "16", "36", "10", "1"}) + ")",
			"tostring(key(" + x + "))", "type(" + x + ")",
			"select(" + g.small() + ", " + g.exprs(3) + ")", "select('#', " + g.exprs(3) + ")", "rawget(c, key(" + x + "))",
			"rawequal(" + x + ", " + s + ")",
			"unpack(c)", "unpack(" + g.table() + ", " + g.small() + ", " + g.small() + ")", "next(e)", "pcall(error, " + x + ")",
			"getmetatable(" + x + ")", "math.fmod(" + x + ", " + s + ")",
			"error(" + x + ", " + g.small() + ")", "assert(" + x + ", " + s + ")", "pcall(" + x + ")",
			"xpcall(function() return " + x + " end, tostring)", "math.max(" + g.exprs(3) + ")",
		})
	}
	return fmt.Sprintf("table.%s", pick(g, []string{
		"concat(c)", "concat(" + g.table() + `, ",")`, "concat(c, " + s + ", " + g.small() + ", " + g.small() + ")",
		"maxn(" + g.table() + ")", "getn(" + g.table() + ")", "maxn(e)",
	}))
}

// words are the tokens of random sources.
var words = []string{
	"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not", "or",
	"repeat", "return", "then", "true", "until", "while",
	"a", "b", "a", "b", "=", "=", "(", ")", "{", "}", "[", "]", ",", ";", ".", ":", "..", "...", "==", "~=", "<", "<=",
	">", ">=", "+", "-", "*", "/", "%", "^", "#",
	"1", "2.5", "'s'", `"t"`, "[[u]]", "[=[v]=]", "-- c\n", "--[[ c ]]", "\n", "0x1p", "3x", "'\\300'", "[=", "~", "!",
	"@", "\"", "goto", "1e", "\\", "::", "//", "&",
	"local a =", "if a then", "function a()", "for i = 1, 2 do", "a = 1", "a()", "end", "end", "return a",
}

// source returns a random sequence of tokens, which is seldom a program, or a program
// with a few changes.
func (g *generator) source() string {
	if g.IntN(2) == 0 {
		return g.mutation()
	}
	var b strings.Builder
	for range 1 + g.IntN(12) {
		b.WriteString(pick(g, words) + pick(g, []string{" ", " ", " ", "", "\n"}))
	}
	return b.String()
}

// mutation returns a program with some missing, repeated or replaced words.
func (g *generator) mutation() string {
	tokens := strings.Split(strings.Join(g.program(), "\n"), " ")
	for range 1 + g.IntN(3) {
		i := g.IntN(len(tokens))
		switch g.IntN(4) {
		case 0:
			tokens[i] = ""
		case 1:
			tokens[i] += " " + tokens[g.IntN(len(tokens))]
		case 2:
			tokens[i] = pick(g, words)
		default:
			tokens[i] += "\n"
		}
	}
	return strings.Join(tokens, " ")
}
