package commands

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"limitsrv/engine"
)

// A sample is a right line of an op command, and what kind of argument each
// word behind the name is. The kind is its name in errors, but for those below.
type sample struct {
	line, kinds string
}

// samples has a line for each op command of the table, with all its options.
var samples = []sample{
	{"RL.TOKEN token 10 1/m 2 PARTIAL", "key capacity rate n option"},
	{"RL.LEAKY leaky 10 1/m 2 SHADOW", "key capacity rate n option"},
	{"RL.FIXED fixed 10 day 2 PARTIAL", "key limit window n option"},
	{"RL.SLIDE slide 10 1m 2 PARTIAL", "key limit window n option"},
	{"RL.LOG log 10 1m 2 PARTIAL", "key limit window n option"},
	{"RL.ACQUIRE lease 10 1m me SHADOW", "key limit ttl id option"},
	{"RL.RELEASE lease you", "key id"},
	{"RL.ALL TOKEN token 10 1/m 2 LEAKY leaky 10 1/m 2", "alg key capacity rate number alg key capacity rate number"},
	{"RL.PEEK token", "key"},
	{"RL.REFUND token 1", "key number"},
	{"RL.CHARGE token 1", "key number"},
	{"RL.RESET token", "key"},
	{"CL.THROTTLE token 15 30 60 1", "key integer integer integer quantity"},
	{"RL.THROTTLE token 15 30 60 1", "key integer integer integer quantity"},
	{"THROTTLE token 15 30 60 1", "key integer integer integer integer"},
	{"GCRA token 15 30 60 TOKENS 1", "key integer integer float option integer"},
	{"DEL token", "key"},
	{"UNLINK token", "key"},
	{"EXISTS token", "key"},
	{"TOUCH token", "key"},
	{"TYPE token", "key"},
	{"TTL token", "key"},
	{"PTTL token", "key"},
	{"FLUSHALL ASYNC", "option"},
	{"FLUSHDB SYNC", "option"},
}

// unnamed are the kinds whose errors don't say their name: those of other
// systems, byte for byte, and what must stand in the text in its place.
var unnamed = map[string]string{
	"option": "syntax error", "number": "n must be", "integer": "", "quantity": "", "float": "",
}

var (
	hugeNumber = "12345678901234567890"
	megabyte   = strings.Repeat("9", 1<<20)
	binary     = "\xff\x00\r\n$-1\r\n"
)

// badOf are arguments that no argument of the kind may be.
func badOf(kind string) []string {
	switch kind {
	case "key", "id":
		return []string{"", megabyte, strings.Repeat(binary, 200)}
	case "quantity":
		return []string{"", hugeNumber, megabyte, "abc", binary, "-" + hugeNumber}
	case "n": // a word there would be an option
		return []string{"", "-1", hugeNumber, megabyte, "0x10", binary}
	}
	return []string{"", "-1", hugeNumber, megabyte, "abc", binary}
}

// TestBadArguments walks all op commands of the table and all their arguments:
// whatever is wrong gets an error that names it, and changes nothing.
func TestBadArguments(t *testing.T) {
	walked := make(map[string]bool)
	for _, sm := range samples {
		args, kinds := words(sm.line), strings.Fields(sm.kinds)
		name := string(args[0])
		walked[name] = true
		t.Run(name, func(t *testing.T) {
			b := newBadArguments(t)
			b.missing(args)
			b.surplus(args)
			for i, kind := range kinds {
				for _, bad := range badOf(kind) {
					line := slices.Clone(args)
					line[i+1] = []byte(bad)
					b.refuse(line, codeOf(name), textOf(kind))
				}
			}
		})
	}
	for _, c := range table {
		if c.Op != nil && !walked[c.Name] {
			t.Errorf("%s has no sample", c.Name)
		}
	}
}

// textOf is what an error about an argument of the kind must say.
func textOf(kind string) string {
	if text, ok := unnamed[kind]; ok {
		return text
	}
	return kind + " must be "
}

func codeOf(name string) string {
	if name == "CL.THROTTLE" || name == "RL.THROTTLE" {
		return "Cell"
	}
	return "ERR"
}

// badArguments is a server with a key of each algorithm, all partly used.
type badArguments struct {
	*testing.T
	s      *Session
	e      *engine.Engine
	now    engine.Instant
	before string
}

func newBadArguments(t *testing.T) *badArguments {
	s, clock, e := newLocalSession()
	for _, sm := range samples[:6] {
		if reply := ask(s, sm.line); reply[0] != '*' {
			t.Fatalf("%s: %s", sm.line, reply)
		}
	}
	b := &badArguments{T: t, s: s, e: e, now: clock.Now()}
	b.before = b.state()
	return b
}

// state is all that there is: how many keys, and of each how it stands.
func (b *badArguments) state() string {
	var keys []string
	b.e.Scan(b.now, 0, 1000, func(key []byte, alg engine.Alg) { keys = append(keys, string(key)) })
	state := fmt.Sprint(b.e.Len())
	for _, key := range keys {
		state += fmt.Sprintf(" %s %x", key, b.e.Fingerprint(b.now, []byte(key)))
	}
	return state
}

// missing sends ever fewer words than the command needs.
func (b *badArguments) missing(args [][]byte) {
	b.Helper()
	s, err := b.s.h.registry.lookup(args, nil)
	if err != nil {
		b.Fatal(err)
	}
	for n := 1; n < s.min; n++ {
		b.refuse(args[:n], codeOf(s.Name), arityText(s))
	}
}

// surplus sends one word more than the command takes.
func (b *badArguments) surplus(args [][]byte) {
	b.Helper()
	s, err := b.s.h.registry.lookup(args, nil)
	if err != nil {
		b.Fatal(err)
	}
	if s.Name == "RL.ALL" {
		b.refuse(append(slices.Clone(args), []byte("1")), "ERR", "RL.ALL takes 1 to 64 limits of 5 arguments each")
		return
	}
	if s.max == unlimited+1 {
		return
	}
	line := slices.Clone(args)
	for len(line) <= s.max {
		line = append(line, []byte("1"))
	}
	b.refuse(line, codeOf(s.Name), arityText(s))
}

func arityText(s *spec) string {
	if s.Flags&OwnArity != 0 {
		return "error: Store error: Usage: " + s.name + " <key>"
	}
	return "wrong number of arguments for '" + s.name + "' command"
}

// refuse sends a line; it must get an error of the code and the text, on one
// line of bounded length, and change nothing.
func (b *badArguments) refuse(line [][]byte, code, text string) {
	b.Helper()
	shown := excerptOf(line)
	b.s.Do(line)
	b.s.Flush()
	reply := string(b.s.Out)
	b.s.Out = b.s.Out[:0]
	if !strings.HasPrefix(reply, "-"+code+" ") || !strings.Contains(reply, text) {
		b.Errorf("%s\n got %.300q\nwant %s and in the text %q", shown, reply, code, text)
	}
	if len(reply) > 512 || strings.IndexAny(reply, "\r\n\x00") != len(reply)-2 || !strings.HasSuffix(reply, "\r\n") {
		b.Errorf("%s: not one line of text: %.600q", shown, reply)
	}
	if state := b.state(); state != b.before {
		b.Fatalf("%s changed\n%s\nto\n%s", shown, b.before, state)
	}
}

func excerptOf(line [][]byte) string {
	var shown []string
	for _, arg := range line {
		shown = append(shown, excerpt(arg))
	}
	return strings.Join(shown, " ")
}

// FuzzArguments gives any bytes to the op commands: they must append ops that the
// engine can rely on, or an *Error and nothing.
func FuzzArguments(f *testing.F) {
	for i, sm := range samples {
		f.Add(uint8(i), bytes.ReplaceAll([]byte(sm.line), []byte(" "), []byte{0}))
	}
	f.Fuzz(func(t *testing.T, command uint8, line []byte) {
		args := bytes.Split(line, []byte{0})
		name, _, _ := strings.Cut(samples[int(command)%len(samples)].line, " ")
		args[0] = []byte(name)
		spec, err := newRegistry(table).lookup(args, nil)
		if err != nil {
			return
		}
		b := &engine.Batch{Ops: make([]engine.Op, 1)}
		if err := spec.Op(b, args); err != nil {
			if len(b.Ops) != 1 || len(err.Error()) > 512 {
				t.Errorf("%s: %d ops beside error %v", excerptOf(args), len(b.Ops)-1, err)
			}
			return
		}
		if len(b.Ops) == 1 {
			t.Errorf("%s: no op and no error", excerptOf(args))
		}
		b.Ops = b.Ops[1:]
		for i := range b.Ops {
			if wrong := wrongOp(&b.Ops[i]); wrong != "" {
				t.Errorf("%s: %s in op %+v", excerptOf(args), wrong, b.Ops[i])
			}
		}
		engine.New(engine.Options{Shards: 1}).Apply(1e18, b)
	})
}

// wrongOp says which bound of package engine an op breaks.
func wrongOp(op *engine.Op) string {
	p := &op.Params
	most := int64(engine.MaxLimit)
	if p.Alg == engine.Log || p.Alg == engine.Lease {
		most = engine.MaxListed
	}
	hasRate := p.Alg == engine.Token || p.Alg == engine.Leaky
	switch {
	case op.Kind != engine.Flush && (len(op.Key) == 0 || len(op.Key) > engine.MaxKeyBytes):
		return "key"
	case op.N < 0 || op.N > engine.MaxN:
		return "N"
	case op.Kind != engine.Take && op.Kind != engine.Acquire:
		return ""
	case p.Limit < 1 || p.Limit > most:
		return "Limit"
	case op.Kind == engine.Acquire && (len(op.ID) == 0 || len(op.ID) > engine.MaxIDBytes):
		return "ID"
	case hasRate && (p.Count < 1 || p.Count > engine.MaxLimit || p.Count > p.Period || p.Period > engine.MaxRatePeriod):
		return "rate"
	case p.Calendar != engine.NoCalendar:
		return map[bool]string{true: "Calendar"}[p.Alg != engine.Fixed || p.Period != 0]
	case !hasRate && (p.Period < engine.MinPeriod || p.Period > engine.MaxPeriod || p.Count != 0):
		return "Period"
	}
	return ""
}
