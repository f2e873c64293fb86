package syntax

import (
	"strings"
	"testing"
	"time"
)

func TestErrors(t *testing.T) {
	names := func(n int) string { return "local " + strings.TrimSuffix(strings.Repeat("x, ", n), ", ") + " " }
	var many strings.Builder
	for i := range 61 {
		many.WriteString("local v" + strings.Repeat("x", i) + " = 1 ")
	}
	many.WriteString("local function f() return v")
	for i := range 60 {
		many.WriteString(" + v" + strings.Repeat("x", i+1))
	}
	many.WriteString(" end")
	for _, tt := range []struct{ source, want string }{
		{"return 1 + 2", ""},
		{"x", "c:1: '=' expected near '<eof>'"},
		{"x\ny z", "c:2: '=' expected near 'y'"},
		{"goto x", "c:1: '=' expected near 'x'"},
		{"x = 1 // 2", "c:1: unexpected symbol near '/'"},
		{"x = '\\300'", "c:1: escape sequence too large near '''"},
		{"x = \"abc", "c:1: unfinished string near '<eof>'"},
		{"x = 'a\nb'", "c:1: unfinished string near ''a'"},
		{"x = [[abc", "c:1: unfinished long string near '<eof>'"},
		{"--[[abc", "c:1: unfinished long comment near '<eof>'"},
		{"x = [=a", "c:1: invalid long string delimiter near '[='"},
		{"x = 3x", "c:1: malformed number near '3x'"},
		{"break", "c:1: no loop to break near '<eof>'"},
		{"if x then\n\nelse x", "c:3: '=' expected near '<eof>'"},
		{"while x do\n\n", "c:3: 'end' expected (to close 'while' at line 1) near '<eof>'"},
		{"for\n\na, b in x do\n", "c:4: 'end' expected (to close 'for' at line 1) near '<eof>'"},
		{"for\n\na = 1, 2 do\n", "c:4: 'end' expected (to close 'for' at line 1) near '<eof>'"},
		{"f\n(x)", "c:2: ambiguous syntax (function call x new statement) near '('"},
		{"local function f() return ... end", "c:1: cannot use '...' outside a vararg function near '...'"},
		{"x = \x01", "c:1: unexpected symbol near 'char(1)'"},
		{"(f)", "c:1: syntax error near '<eof>'"},
		{"a.b:c = 1", "c:1: function arguments expected near '='"},
		{"function f(a,) end", "c:1: <name> or '...' expected near ')'"},
		{"for i do end", "c:1: '=' or 'in' expected near 'do'"},
		{"local 1", "c:1: '<name>' expected near '1'"},
		{names(200), ""},
		{names(201), "c:1: main function has more than 200 local variables"},
		{"\n" + strings.ReplaceAll(many.String(), "local function", "\nlocal function"),
			"c:3: function at line 3 has more than 60 upvalues"},
		{strings.Repeat("(", 300), "c:1: chunk has too many syntax levels"},
		{strings.Repeat("do ", 300), "c:1: chunk has too many syntax levels"},
	} {
		_, err := Parse([]byte(tt.source), "c", 0)
		if got := ""; err != nil {
			if got = err.Error(); got != tt.want {
				t.Errorf("%.60q: %s, want %s", tt.source, got, tt.want)
			}
		} else if tt.want != "" {
			t.Errorf("%.60q: no error, want %s", tt.source, tt.want)
		}
	}
}

func TestVariables(t *testing.T) {
	main, err := Parse([]byte("local a, b do local c end local d local function f(x, ...) return a, x, g, ... end"), "c",
		0)
	if err != nil {
		t.Fatal(err)
	}
	if main.Slots != 4 || !main.Captures {
		t.Errorf("main has %d slots, captures %v, want 4, true", main.Slots, main.Captures)
	}
	f := main.Body.Statements[3].(*LocalFunction).Function
	if len(f.Upvalues) != 1 || f.Upvalues[0].Name != "a" || f.Upvalues[0].Local == nil || !f.UsesVararg || f.Slots != 2 {
		t.Errorf("f = %+v", f)
	}
	values := f.Body.Statements[0].(*Return).Values
	if _, ok := values[0].(*UpvalueExpr); !ok {
		t.Errorf("a is a %T", values[0])
	}
	if _, ok := values[1].(*LocalExpr); !ok {
		t.Errorf("x is a %T", values[1])
	}
	if g, ok := values[2].(*GlobalExpr); !ok || g.Line != 1 {
		t.Errorf("g is a %T", values[2])
	}
}

func TestConstantsAreFolded(t *testing.T) {
	for source, want := range map[string]float64{"return 1 + 2 * 3": 7, "return 2 ^ 3 ^ 2": 512, "return -2 ^ 2": -4,
		"return (1 + 1) % 3": 2, "return -7 % 3": 2, "return true and 5": 5} {
		main, err := Parse([]byte(source), "c", 0)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := main.Body.Statements[0].(*Return).Values[0].(*Number); !ok || n.Value != want {
			t.Errorf("%s is not folded to %v", source, want)
		}
	}
	for _, source := range []string{"return 1 / 0", "return 1 % 0", "return 'a' .. 'b'", "return 1 < 2"} {
		main, err := Parse([]byte(source), "c", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := main.Body.Statements[0].(*Return).Values[0].(*Number); ok {
			t.Errorf("%s is folded", source)
		}
	}
}

// TestVariablesInNestedFunctions: names are found as fast within many functions with many variables
// as outside.
func TestVariablesInNestedFunctions(t *testing.T) {
	parse := func(depth int) time.Duration {
		source := strings.Repeat("local "+strings.Repeat("w, ", 190)+"v local function f() ", depth) +
			strings.Repeat("x() v = v ", 20_000) + strings.Repeat("end ", depth)
		began := time.Now()
		if _, err := Parse([]byte(source), "x", 0); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	outside, within := time.Hour, time.Hour
	for range 10 {
		outside, within = min(outside, parse(1)), min(within, parse(90))
		if within <= 5*outside {
			return
		}
	}
	t.Errorf("within functions the parser takes %v, outside %v", within, outside)
}
