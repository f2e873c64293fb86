package resp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// A bufferMode is a transport's way to manage a reader's memory.
type bufferMode struct {
	name   string
	before func(*Reader)
	after  func(*Reader)
}

// bufferModes are the modes of the event loop and of the goroutines.
func bufferModes() []bufferMode {
	p := NewPool(64<<10, 4<<10)
	return []bufferMode{
		{"lent", func(r *Reader) { r.Borrow(p) }, func(r *Reader) { r.Release(p) }},
		{"own", func(*Reader) {}, (*Reader).Compact},
	}
}

// feed passes in to r in segments of the sizes that cut returns, limited by the room, and
// returns copies of all commands.
func feed(r *Reader, m bufferMode, in []byte, cut func() int, lim *Limits,
	unauthenticated bool) (commands [][]string, problem string) {
	for len(in) > 0 {
		m.before(r)
		n := copy(r.Space(), in[:min(len(in), cut())])
		r.Filled(n)
		in = in[n:]
		var batch [][][]byte
		for {
			var args [][]byte
			if args, problem = r.Next(lim, unauthenticated); args == nil {
				break
			}
			batch = append(batch, args)
		}
		for _, args := range batch { // all commands of a batch are valid until DiscardArgs
			commands = append(commands, texts(args))
		}
		r.DiscardArgs()
		m.after(r)
	}
	return commands, problem
}

func texts(args [][]byte) []string {
	var s []string
	for _, a := range args {
		s = append(s, string(a))
	}
	return s
}

func wholeInput() int  { return 1 << 30 }
func singleBytes() int { return 1 }

// randomSizes returns segment sizes of 1 to n bytes.
func randomSizes(seed uint64, n int) func() int {
	rnd := rand.New(rand.NewPCG(seed, 0))
	return func() int { return 1 + rnd.IntN(n) }
}

func words(s ...string) []string { return s }

func TestReader(t *testing.T) {
	long := strings.Repeat("x", DefaultLimits.InlineBytes+1)
	for _, tt := range []struct {
		name, in string
		want     [][]string
		problem  string
	}{
		{"an array", "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", [][]string{{"ECHO", "hi"}}, ""},
		{"an empty argument", "*1\r\n$0\r\n\r\n", [][]string{{""}}, ""},
		{"line ends in an argument", "*1\r\n$4\r\n\r\n\r\n\r\n", [][]string{{"\r\n\r\n"}}, ""},
		{"a pipeline of both forms", "PING\r\n*1\r\n$4\r\nPING\r\nPING\n", [][]string{{"PING"}, {"PING"}, {"PING"}}, ""},
		{"empty commands are skipped", "\r\n\n  \r\n*0\r\n*-1\r\n*-77\r\nPING\r\n", [][]string{{"PING"}}, ""},
		{"half a command is none", "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r", nil, ""},
		{"any byte in place of a newline", "*1\rX$4\rYPINGZZ", [][]string{{"PING"}}, ""},
		{"a double quoted word", `PING "a\x41\n\r\t\b\a\q\\\""` + "\r\n", [][]string{{"PING", "aA\n\r\t\b\aq\\\""}}, ""},
		{"half a hex escape is none", `PING "\x4" "\xzz"` + "\r\n", [][]string{{"PING", "x4", "xzz"}}, ""},
		{"a single quoted word", `PING 'a\'b\n"'` + "\r\n", [][]string{{"PING", `a'b\n"`}}, ""},
		{"a quote inside of a word", `PING foo"bar baz"` + "\r\n", [][]string{{"PING", "foobar baz"}}, ""},
		{"an empty word", `""` + "\r\n", [][]string{{""}}, ""},
		{"blanks of all kinds", "\vPING \fx\ty\rz\vz \r\r\n", [][]string{{"PING", "x", "y", "z\vz"}}, ""},
		{"a zero byte in a line", "PING a\x00b\r\n", [][]string{{"PING", "a\x00b"}}, ""},
		{"a quote not closed", `PING "abc` + "\r\n", nil, badQuotes},
		{"a single quote not closed", `PING 'abc\'` + "\r\n", nil, badQuotes},
		{"a quote not followed by a blank", `PING "a"b` + "\r\n", nil, badQuotes},
		{"commands before the problem", "PING\r\n*1\r\nX", [][]string{{"PING"}}, "Protocol error: expected '$', got 'X'"},
		{"a line end in place of a mark", "*1\r\n\r\n", nil, "Protocol error: expected '$', got ' '"},
		{"a count that wraps around", "*18446744073709551617\r\n", nil, badArgCount},
		{"a count for ever", "*4000000000000000000\r\n", nil, badArgCount},
		{"a count with a plus", "*+1\r\n", nil, badArgCount},
		{"a count with a zero before", "*01\r\n", nil, badArgCount},
		{"minus zero", "*-0\r\n", nil, badArgCount},
		{"no count", "*\r\n", nil, badArgCount},
		{"a sign alone", "*-\r\n", nil, badArgCount},
		{"the greatest length", "*1\r\n$9223372036854775807\r\n", nil, badArgLength},
		{"a negative length", "*1\r\n$-1\r\n", nil, badArgLength},
		{"a length that is none", "*1\r\n$4x\r\n", nil, badArgLength},
		{"as many arguments as allowed", "*16384\r\n", nil, ""},
		{"one argument too many", "*16385\r\n", nil, badArgCount},
		{"an argument as long as allowed", "*1\r\n$65536\r\n", nil, ""},
		{"an argument too long", "*1\r\n$65537\r\n", nil, badArgLength},
		{"an endless inline command", long, nil, longInline},
		{"an inline command too long", long + "\r\n", nil, longInline},
		{"an inline command as long as allowed", long[1:] + "\n", [][]string{{long[1:]}}, ""},
		{"an inline command of too many words", strings.Repeat("a ", 16385) + "\n", nil, longInline},
		{"an endless count", "*" + long[1:], nil, longArgCount},
		{"an endless length", "*1\r\n$" + long[1:], nil, longArgLength},
		{"a query too long", "*99\r\n" + strings.Repeat("$65536\r\n"+long[1:]+"\r\n", 16), nil, longQuery},
	} {
		check(t, tt.name, tt.in, &DefaultLimits, false, tt.want, tt.problem)
	}
}

func TestReaderBeforeLogin(t *testing.T) {
	ten := words("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
	for _, tt := range []struct {
		name, in string
		want     [][]string
		problem  string
	}{
		{"ten arguments", array(ten...), [][]string{ten}, ""},
		{"eleven arguments", "*11\r\n", nil, unauthArgCount},
		{"an argument of 16 KB", "*1\r\n$16384\r\n", nil, ""},
		{"an argument of a byte more", "*1\r\n$16385\r\n", nil, unauthArgLength},
		{"an inline command of eleven words", "a b c d e f g h i j k\n",
			[][]string{words("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k")}, ""},
		{"a count beyond every limit", "*16385\r\n", nil, badArgCount},
	} {
		check(t, tt.name, tt.in, &DefaultLimits, true, tt.want, tt.problem)
	}
}

// check reads in whole, byte by byte and in random segments, and with the model.
func check(t *testing.T, name, in string, lim *Limits, unauthenticated bool, want [][]string, problem string) {
	t.Helper()
	same := func(how string, got [][]string, gotProblem string) {
		t.Helper()
		if !slices.EqualFunc(got, want, slices.Equal) || gotProblem != problem {
			t.Errorf("%s, %s: read %.100q\n got %.200q, %q\nwant %.200q, %q", name, how, in, got, gotProblem, want, problem)
		}
	}
	got, gotProblem := model(in, lim, unauthenticated)
	same("twin", got, gotProblem)
	for _, m := range bufferModes() {
		for _, c := range []struct {
			name string
			cut  func() int
		}{{"whole", wholeInput}, {"byte by byte", singleBytes}, {"in pieces", randomSizes(1, 11)},
			{"in large pieces", randomSizes(2, 9000)}} {
			got, gotProblem := feed(new(Reader), m, []byte(in), c.cut, lim, unauthenticated)
			same(m.name+", "+c.name, got, gotProblem)
		}
	}
}

// array returns a command as clients send it.
func array(args ...string) string {
	var w Writer
	w.BulkStrings(args)
	return string(w.Buf)
}

// smallLimits are reached by short inputs.
var smallLimits = Limits{Args: 12, ArgBytes: 40, QueryBytes: 150, InlineBytes: 30}

// randomStream returns commands of all kinds, mostly well-formed.
func randomStream(rnd *rand.Rand) string {
	odd := words("*", "$", "\r\n", "\n", "\r", " ", `"`, `'`, `\`, `\x41`, "*-1\r\n", "*0\r\n", "*3\r\n", "$-1\r\n",
		"$5\r\n", "1", "9", "\x00", "\xff")
	var b strings.Builder
	for range rnd.IntN(12) {
		switch rnd.IntN(8) {
		case 0:
			b.WriteString(odd[rnd.IntN(len(odd))])
		case 1:
			b.WriteString("SET \"a b\" 'c\\'d' e\r\n")
		case 2:
			for range rnd.IntN(9) {
				b.WriteString(odd[rnd.IntN(len(odd))])
			}
			b.WriteString("\r\n")
		default:
			args := make([]string, rnd.IntN(6))
			for i := range args {
				args[i] = strings.Repeat(string([]byte{byte(rnd.IntN(256))}), rnd.IntN(30))
			}
			b.WriteString(array(args...))
		}
	}
	return b.String()
}

func TestReaderMatchesModel(t *testing.T) {
	for seed := range uint64(20000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		in := randomStream(rnd)
		compare(t, in, randomSizes(seed, 1+rnd.IntN(40)), seed%2 == 0)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func compare(t *testing.T, in string, cut func() int, unauthenticated bool) {
	t.Helper()
	want, problem := model(in, &smallLimits, unauthenticated)
	for _, m := range bufferModes() {
		got, gotProblem := feed(new(Reader), m, []byte(in), cut, &smallLimits, unauthenticated)
		if !slices.EqualFunc(got, want, slices.Equal) || gotProblem != problem {
			t.Errorf("%s: read %q\n got %q, %q\nwant %q, %q", m.name, in, got, gotProblem, want, problem)
		}
	}
}

func FuzzReader(f *testing.F) {
	for seed := range uint64(20) {
		f.Add([]byte(randomStream(rand.New(rand.NewPCG(seed, 2)))), seed, seed%2 == 0)
	}
	f.Add([]byte("*1\r\n$9223372036854775807\r\n"), uint64(0), false)
	f.Add([]byte("*4000000000000000000\r\n"), uint64(0), true)
	f.Fuzz(func(t *testing.T, in []byte, seed uint64, unauthenticated bool) {
		compare(t, string(in), randomSizes(seed, 1+int(seed%50)), unauthenticated)
	})
}

// Single bytes cost linear time. Parsing from the start at each byte would take minutes
// here.
func TestReaderSlowDrip(t *testing.T) {
	many := make([]string, 14000)
	for i := range many {
		many[i] = "x"
	}
	for _, tt := range []struct{ name, in string }{
		{"many arguments", array(many...)},
		{"one long argument and another", array(strings.Repeat("x", 65536), strings.Repeat("y", 40000))},
		{"long inline commands", strings.Repeat(strings.Repeat("a ", 16000)+"\r\n", 3)},
		{"a long quoted word", `"` + strings.Repeat("a", 60000) + `"` + "\r\n" + strings.Repeat("PING\r\n", 6000)},
		{"empty commands", strings.Repeat("*0\r\n", 25000)},
		{"a count without end", "*" + strings.Repeat("1", 200000)},
		{"a length without end", "*1\r\n$" + strings.Repeat("1", 200000)},
		{"an inline command without end", strings.Repeat("1", 200000)},
	} {
		lim := DefaultLimits
		lim.InlineBytes = 256 << 10
		want, problem := model(tt.in, &lim, false)
		for _, m := range bufferModes() {
			var got [][]string
			gotProblem := ""
			testwait.Within(t, time.Second, fmt.Sprintf("%s, %s: feeding %d single bytes", tt.name, m.name, len(tt.in)), func() {
				got, gotProblem = feed(new(Reader), m, []byte(tt.in), singleBytes, &lim, false)
			})
			if !slices.EqualFunc(got, want, slices.Equal) || gotProblem != problem {
				t.Errorf("%s, %s: got %d commands, %q, want %d, %q", tt.name, m.name, len(got), gotProblem, len(want), problem)
			}
		}
	}
}

// A length that is only claimed allocates nothing, and the memory of a large command is
// released.
func TestReaderMemory(t *testing.T) {
	large := array(strings.Repeat("x", 60000), strings.Repeat("y", 60000))
	for _, m := range bufferModes() {
		r := new(Reader)
		feed(r, m, []byte("*16384\r\n$65536\r\n"), singleBytes, &DefaultLimits, false)
		if got := cap(r.buf) + 8*cap(r.spans) + 24*cap(r.args); got > ownBytes+1<<10 {
			t.Errorf("%s: claimed lengths hold %d bytes, want at most %d", m.name, got, ownBytes+1<<10)
		}
		r = new(Reader)
		for i, in := range []string{large[:100000], large[100000:]} {
			feed(r, m, []byte(in), randomSizes(3, 5000), &DefaultLimits, false)
			if got, want := cap(r.buf), [...]int{4 * len(large), ownBytes}[i]; got > want {
				t.Errorf("%s: after part %d the buffer has %d bytes, want at most %d", m.name, i, got, want)
			}
		}
	}
}

func TestReaderAllocatesNothing(t *testing.T) {
	in := []byte(strings.Repeat(array("RL.TOKEN", "user:1234567890", "100", "10/1s"), 100) +
		"PING \"a b\"\r\n*2\r\n$4\r\nEC")
	rest := []byte("HO\r\n$1\r\nx\r\n")
	for _, m := range bufferModes() {
		r := new(Reader)
		read := func(in []byte) {
			m.before(r)
			for len(in) > 0 {
				n := copy(r.Space(), in)
				r.Filled(n)
				in = in[n:]
				for args, _ := r.Next(&DefaultLimits, false); args != nil; args, _ = r.Next(&DefaultLimits, false) {
				}
				r.DiscardArgs()
				if len(in) > 0 {
					r.Compact()
				}
			}
			m.after(r)
		}
		if got := testing.AllocsPerRun(100, func() { read(in); read(rest) }); got != 0 {
			t.Errorf("%s: %v allocations per 102 commands, want 0", m.name, got)
		}
	}
}

func BenchmarkReader(b *testing.B) {
	one := array("RL.TOKEN", "user:1234567890", "100", "10/1s")
	in := bytes.Repeat([]byte(one), 500)
	r := new(Reader)
	p := NewPool(64<<10, 4<<10)
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for n := 0; n < b.N; {
		r.Borrow(p)
		r.Filled(copy(r.Space(), in))
		for args, _ := r.Next(&DefaultLimits, false); args != nil; args, _ = r.Next(&DefaultLimits, false) {
			n++
		}
		r.DiscardArgs()
		r.Release(p)
	}
}
