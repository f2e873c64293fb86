package scripts

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"limitsrv/commands/scripts/lua/number"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file")

const portableFile = "testdata/portable.golden"

// oddNumbers is a list of Lua's numbers near the bounds of all ranges.
const oddNumbers = `local inf, nan = 1/0, tonumber('nan')
local odd = {0, -0, 1, -1, 0.1, 1/3, -2.5, 1e10, -1e10, 2147483647, 2147483648, -2147483649, 4294967296, 2^53 + 1, 2^63, -2^63, 2^64, 1e19, 1e22, 1e100, 1e300, 5e-324, 2.2250738585072014e-308, inf, -inf, nan, -nan, 0/0, -(0/0), 9.3e18, 123456789.123456789}
local r = {}
local function add(...) for i = 1, select('#', ...) do local v = select(i, ...) r[#r + 1] = type(v) == 'number' and string.format('%.17g', v) or tostring(v) end end
`

// portableScripts are scripts that compute with numbers in all ways that scripts have.
var portableScripts = []struct{ name, text string }{
	{"operators",
		`for _, a in ipairs(odd) do for _, b in ipairs(odd) do add(a + b, a - b, a * b, a / b, a % b, a ^ b, a < b, a == b) end end`},
	{"constants",
		`for _, a in ipairs(odd) do add(a + 1e999, a - 1e999, a * 0, a / 0, a % 3, a ^ 0.5, a ^ -1, a ^ 2, -a, 1.1 ^ 0.3, 3 ^ 0.7 * 1.1, (7.3 * 1.1) ^ 12.7) end`},
	{"sums of products",
		`local x = 0.1 for i = 1, 300 do x = x * 1.0000001 + i / 7 x = x - x * x / 1e9 add(x, x * i - i * 0.3, i * 0.1 + x * 0.7) end`},
	{"coerced",
		`for _, a in ipairs(odd) do local s = string.format('%.17g', a) add(s + 1, s * '3.3', s ^ '0.3', s - 0, -s, s % 7, s / '0') end`},
	{"for", `for i = 0, 1, 0.1 do add(i) end for i = 1, 0, -1/3 do add(i) end`},
	{"math",
		`for name, f in pairs({sin=math.sin, cos=math.cos, tan=math.tan, asin=math.asin, acos=math.acos, atan=math.atan, sinh=math.sinh, cosh=math.cosh, tanh=math.tanh, ceil=math.ceil, floor=math.floor, sqrt=math.sqrt, exp=math.exp, log=math.log, log10=math.log10, deg=math.deg, rad=math.rad, abs=math.abs}) do
for _, a in ipairs(odd) do add(name, f(a), f(a * 0.37), f(0.7 / (1 + a * a))) end end`},
	{"math of two",
		`for _, a in ipairs(odd) do for _, b in ipairs(odd) do add(math.pow(a, b), math.atan2(a, b), math.fmod(a, b), math.max(a, b), math.min(a, b)) end add(math.frexp(a)) add(math.modf(a)) add(math.ldexp(a, 3), math.ldexp(a, -1074)) end`},
	{"random",
		`for i = 1, 50 do add(math.random(), math.random(100), math.random(-5, 7)) end math.randomseed(2^40 + 0.5) add(math.random()) for _, a in ipairs(odd) do add(pcall(math.random, a)) add(pcall(math.randomseed, a), math.random()) end`},
	{"text",
		`for _, a in ipairs(odd) do add(tostring(a), a .. '', string.format('%g %e %f %.3f %.40g %G %10.2e', a, a, a % 1e9, a % 1e9, a, a, a)) for _, f in ipairs{'%d', '%i', '%u', '%x', '%X', '%o', '%c'} do add(pcall(string.format, f, a)) end end`},
	{"parsed",
		`for _, s in ipairs{'0x1.8p3', '0x.1p-1070', '0x1.fffffffffffff8p1023', '1e-330', '2.4703282292062328e-324', '9007199254740993', '0x10000000000000801', 'nan', '-nan', 'inf', '0.1e1', '1e400'} do add(tonumber(s), s) end add(tonumber('ffffffffffffffffff', 16), tonumber('-zz', 36), tonumber('7', 8.9))`},
	{"indices",
		`local t = {10, 20, 30} for _, a in ipairs(odd) do add(t[a]) add(pcall(function() t[a] = nil end)) pcall(function() t[a] = a end) add(rawget(t, a)) for i, v in (ipairs{}), {1, 2}, a do add(i, v) end add(pcall(string.rep, 'x', a % 100)) add(pcall(string.sub, 'hello', a, a)) add(pcall(string.byte, 'hello', a)) add(pcall(select, a, 1, 2)) add(pcall(unpack, {1, 2}, a, a)) add(pcall(table.concat, {1, 2}, '', a, a)) end`},
	{"struct",
		`for _, a in ipairs(odd) do for _, f in ipairs{'d', 'f', 'i', 'I', 'l', 'h', 'b', 'i8'} do local ok, s = pcall(struct.pack, '>' .. f, a) add(ok, (s:gsub('.', function(c) return string.format('%02x', c:byte()) end))) if ok then add(struct.unpack('>' .. f, s)) end end end add(struct.unpack('>f', '\255\224\1\2'), struct.unpack('>d', '\255\248\0\0\1\2\3\4'))`},
	{"bit",
		`for _, a in ipairs(odd) do for _, f in ipairs{'tobit', 'bnot', 'bswap', 'tohex'} do add(bit[f](a)) end add(bit.band(a, 255), bit.lshift(a, 3), bit.rol(1, a % 64), bit.arshift(a, 1)) end`},
	{"cjson",
		`cjson.encode_sparse_array(true) for _, a in ipairs(odd) do add(pcall(cjson.encode, {a})) add(pcall(function() return cjson.encode{[a % 5] = a % 7} end)) end for _, s in ipairs{'[1e-330, 0.1, 1e22, 123456789012345678901234567890]', '[0x1p3, nan, -inf]', '[2.5e+308]', '[-0]'} do local ok, v = pcall(cjson.decode, s) if ok then for _, x in ipairs(v) do add(x) end else add(v) end end cjson.encode_number_precision(3) add(cjson.encode{1/3, 1e22})`},
	{"counters",
		`for i, a in ipairs(odd) do local s = string.format('%.17g', a) for _, x in ipairs{s, '0x1.8p3', '1e-5', '3.0e3'} do add(tostring(redis.pcall('INCRBYFLOAT', KEYS[1], x)), tostring(redis.pcall('HINCRBYFLOAT', KEYS[2], 'f', x))) end add(redis.call('GET', KEYS[1])) redis.call('SET', KEYS[1], '0.' .. i) end`},
	{"scores",
		`for i, a in ipairs(odd) do local s = string.format('%.17g', a) redis.pcall('ZADD', KEYS[1], s, i) redis.pcall('ZINCRBY', KEYS[1], '0.1', i) redis.pcall('ZADD', KEYS[2], 'INCR', s, i % 5) redis.pcall('ZINCRBY', KEYS[2], s, 'sum') add(redis.call('ZSCORE', KEYS[1], i), tostring(redis.pcall('ZCOUNT', KEYS[1], '(' .. i / 3, s)), redis.call('ZSCORE', KEYS[2], i % 5)) end
for _, w in ipairs{'0.1', '-inf', 'inf', '0', '1e300', '3.3'} do for _, how in ipairs{'SUM', 'MIN', 'MAX'} do add(tostring(redis.pcall('ZUNIONSTORE', KEYS[3], 2, KEYS[1], KEYS[2], 'WEIGHTS', w, '0.7', 'AGGREGATE', how))) for _, x in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1, 'WITHSCORES')) do add(x) end end end`},
	{"arguments",
		`for _, a in ipairs(odd) do add(redis.call('SET', KEYS[1], a).ok, redis.call('GET', KEYS[1]), redis.call('ECHO', a)) for _, c in ipairs{{'INCRBY', KEYS[2], a}, {'SETRANGE', KEYS[3], a, 'x'}, {'PEXPIRE', KEYS[1], a}, {'LRANGE', KEYS[4], a, a}, {'BLPOP', KEYS[4], a}} do local v = redis.pcall(unpack(c)) add(type(v) == 'table' and (v.err or #v) or tostring(v)) end redis.call('DEL', KEYS[3]) end`},
	{"limits",
		`for _, a in ipairs(odd) do for _, c in ipairs{{'CL.THROTTLE', KEYS[1], 15, 30, a, 1}, {'CL.THROTTLE', KEYS[2], 15, 7, 60, a}, {'GCRA', KEYS[3], 4, 7, a}, {'RL.TOKEN', KEYS[4], a, 1.5, a}} do local v = redis.pcall(unpack(c)) if type(v) == 'table' then add(v.err) for _, x in ipairs(v) do add(x) end else add(tostring(v)) end end end`},
	{"answers", `do return odd end`},
	{"errors",
		`for _, a in ipairs(odd) do add(pcall(error, a)) add(pcall(error, {err = 'x', line = a, source = 's'})) add(pcall(setmetatable, a, {})) end do return {err = 'E x', line = -1e300, source = 's'} end`},
}

// portableAnswers returns a line for each script, and complains of those without an answer.
func portableAnswers(t *testing.T) []string {
	var lines []string
	for _, s := range portableScripts {
		n := newNode()
		got := n.runAs(0, 1<<40, oddNumbers+s.text+"\nreturn table.concat(r, ' ')", "4", "k", "l", "m", "n")
		if s.name != "errors" && strings.HasPrefix(got, "-") {
			t.Errorf("%s: %.300s", s.name, got)
		}
		lines = append(lines, s.name+": "+strconv.QuoteToASCII(got))
	}
	return lines
}

// TestSameOnAllProcessors compares answers with a file that holds on all processors.
func TestSameOnAllProcessors(t *testing.T) {
	got := portableAnswers(t)
	if *rewrite {
		if err := os.WriteFile(portableFile, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(portableFile)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(want) != len(got) {
		t.Fatalf("%d scripts, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] == want[i] {
			continue
		}
		a, b := strings.Fields(got[i]), strings.Fields(want[i])
		for n := range min(len(a), len(b)) {
			if a[n] != b[n] {
				t.Errorf("%s: value %d is %s, want %s", portableScripts[i].name, n, a[n], b[n])
			}
		}
		if len(a) != len(b) {
			t.Errorf("%s: %d values, want %d", portableScripts[i].name, len(a), len(b))
		}
	}
}

// TestLevel1 checks that calls of level 1 get the results of package math, as they are in logs, in
// all ways to compute: by constants, variables, functions, and text that is compiled meanwhile.
func TestLevel1(t *testing.T) {
	native := map[string]func(x float64) float64{
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
		"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh,
		"exp": math.Exp, "log": math.Log, "log10": math.Log10, "sqrt": math.Sqrt, "ceil": math.Ceil, "floor": math.Floor,
		"pow":   func(x float64) float64 { return math.Pow(x, 0.3) },
		"atan2": func(x float64) float64 { return math.Atan2(x, 0.3) },
	}
	forms := map[string]string{"pow": "math.pow(%s, 0.3)", "atan2": "math.atan2(%s, 0.3)", "operator": "%s ^ 0.3"}
	for name := range native {
		if forms[name] == "" {
			forms[name] = "math." + name + "(%s)"
		}
	}
	native["operator"] = native["pow"]
	differ := 0
	for name, form := range forms {
		for i := range 40 {
			x := 0.0137*float64(i) + 0.01
			want := fmt.Sprintf("%.17g", native[name](x))
			constant := fmt.Sprintf(form, strconv.FormatFloat(x, 'g', 17, 64))
			for _, text := range []string{
				"return string.format('%.17g', " + constant + ")",
				"local x = tonumber(ARGV[1]) return string.format('%.17g', " + fmt.Sprintf(form, "x") + ")",
				"return string.format('%.17g', loadstring('return " + constant + "')())",
				"return string.format('%.17g', " + fmt.Sprintf(form, "ARGV[1]") + ")",
			} {
				n := newNode()
				n.batch.Reset()
				n.batch.Level = 1
				n.add(0, 1<<30, text, "0", strconv.FormatFloat(x, 'g', 17, 64))
				n.e.Apply(n.now, &n.batch)
				if got := respOf(&n.batch.Calls[0]); !strings.Contains(got, "|"+want+"|") {
					t.Errorf("%s at level 1 with %v = %q, want %s", text, x, got, want)
				}
				if got := newNode().runAs(0, 1<<30, text, "0", strconv.FormatFloat(x, 'g', 17, 64)); !strings.Contains(got,
					"|"+want+"|") {
					differ++
				}
			}
		}
	}
	if differ == 0 {
		t.Error("no result of level 2 differs from one of level 1")
	}
	if x := 1.1; number.NativePow(x, 0.3) != math.Pow(x, 0.3) {
		t.Error("NativePow is not the power of package math")
	}
}
