package commands

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/calls"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/usage"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// A sample is a valid line of an op command, with the kind of argument of each word after
// the name. The kind is the argument's name in errors, except for those below.
type sample struct {
	line, kinds string
}

// takeSamples are the lines of the commands that take tokens.
var takeSamples = func() (all []sample) {
	period := map[engine.PeriodKind]string{engine.Rate: "1/m", engine.Window: "1m", engine.CalendarWindow: "day"}
	for a := range engine.Algs() {
		if u := a.Usage(); a.IsCounted() {
			all = append(all, sample{
				fmt.Sprintf("RL.%v %s 10 %s 2 PARTIAL", a, strings.ToLower(a.String()), period[u.Period]),
				fmt.Sprintf("key %s %v n option", u.Limit, u.Period)})
		}
	}
	return all
}()

// samples has a line with all options for each op command of the table.
var samples = append(takeSamples, []sample{
	{"RL.ACQUIRE lease 10 1m me SHADOW", "key limit ttl id option"},
	{"RL.RELEASE lease you", "key id"},
	{"RL.ALL TOKEN token 10 1/m 2 LEAKY leaky 10 1/m 2", "alg key capacity rate number alg key capacity rate number"},
	{"RL.RESERVE held 1m TOKEN token 10 1/m 2", "id ttl alg key capacity rate number"},
	{"RL.EXTEND held 1m BY 1 KEEP ALL", "id ttl option number option any"},
	{"RL.COMMIT held 1 2", "id actual actual"},
	{"RL.RESERVED KEY token COUNT 5", "any key option any"},
	{"RL.PEEK token", "key"},
	{"RL.REFUND token 1 AGE 1s", "key number option duration"},
	{"RL.CHARGE token 1 TOKEN 10 1/m PARTIAL", "key number alg capacity rate option"},
	{"RL.RESET token", "key"},
	{"RL.CHECK api ip 203.0.113.7 HITS 2", "domain key value word hits"},
	{"RL.SETTLE api ip 203.0.113.7 BY 2", "domain key value"},
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
	{"SET plain v EX 60", "key any any any"},
	{"INCREX plain BYINT 1", "key any any"},
	{"MSET plain v other w", "key any key any"},
	{"HSCAN plain 0", "key any"},
	{"SSCAN plain 0", "key any"},
	{"ZSCAN plain 0", "key any"},
	{"ZADD plain 1 m", "key any any"},
	{"LINDEX plain 0", "key any"},
	{"LSET plain 0 v", "key any any"},
	{"LINSERT plain BEFORE v w", "key option any any"},
	{"LMOVE plain other LEFT RIGHT", "key key option option"},
	{"SINTERCARD 1 plain", "index key"},
}...)

// unnamed are the kinds with errors that do not contain the kind's name, because they equal
// the errors of Redis and of other systems byte for byte, with the text that they must
// contain instead.
var unnamed = map[string]string{
	"option": "syntax error", "number": "n must be", "hits": "HITS must be", "integer": "", "quantity": "", "float": "",
	"cursor": "", "index": "", "numreplicas": "", "timeout": "", "timeout of a wait": "timeout", "ip:port": "",
	"backup-name": "name must be",
}

var (
	hugeNumber = "12345678901234567890"
	megabyte   = strings.Repeat("9", 1<<20)
	binary     = "\xff\x00\r\n$-1\r\n"
	tooLong    = strings.Repeat("h", engine.MaxKeyBytes+1)
	notWhole   = []string{"", "-1", "x", "1.5", "1e3", " 1", "99999999999999999999999999"}
	badName    = []string{"", megabyte, tooLong, strings.Repeat(binary, 200)}
	badAmount  = []string{"", "-1", hugeNumber, megabyte, "abc", binary}
)

// badWords are invalid arguments of each kind. Other kinds accept any argument.
var badWords = map[string][]string{
	"key": badName, "id": badName,
	"capacity": badAmount, "rate": badAmount, "limit": badAmount, "window": badAmount, "ttl": badAmount, "alg": badAmount,
	"actual": badAmount,
	"number": badAmount, "hits": badAmount, "integer": badAmount, "float": badAmount, "option": badAmount,
	"quantity":          {"", hugeNumber, megabyte, "abc", binary, "-" + hugeNumber},
	"n":                 {"", "-1", hugeNumber, megabyte, "0x10", binary}, // a word would be parsed as an option
	"cursor":            notWhole,
	"index":             notWhole,
	"numreplicas":       {"", "x", "1.5"},
	"timeout":           notWhole,
	"timeout of a wait": {"", "-1", "x", "nan", "1e30", "99999999999999999999999999"},
	"duration":          {"", "0", "-1", "x", "1e99", " 1", "11y", hugeNumber},
	"ip:port":           {"", "x"},
	"backup-name":       {"", "Daily", "a.b", "../a", "a/b", "a b", strings.Repeat("a", maxBackupName+1), binary},
}

func isSub(c *session.Spec) bool { return strings.Contains(c.FullName, "|") }

// rightLine returns a valid line of a command, and the kind of each word after its name:
// from samples, or else a line of minimum length.
func rightLine(c *session.Spec) (args [][]byte, kinds []string) {
	for _, sm := range samples {
		if name, _, _ := strings.Cut(sm.line, " "); name == c.Name && !isSub(c) {
			return words(sm.line), strings.Fields(sm.kinds)
		}
	}
	for _, a := range flatten(c.Arguments) {
		if a.Optional || a.Kind != usage.Word {
			break
		}
		kind := a.Name
		if kind == "timeout" && c.Wait != nil {
			kind = "timeout of a wait"
		}
		kinds = append(kinds, kind)
	}
	return bytesOf(sampleLine(c)), kinds
}

// TestBadInput walks all commands of the table and all their arguments: an argument that
// is missing, surplus or wrong causes an error that names it, and changes nothing.
func TestBadInput(t *testing.T) {
	for _, c := range newRegistry().Specs() {
		args, kinds := rightLine(c)
		if silencing(args) || c.Subs != nil {
			continue
		}
		if c.Op != nil && !isSub(c) && len(kinds) < len(args)-1 {
			t.Errorf("%s has no sample", c.Name)
		}
		t.Run(c.FullName, func(t *testing.T) {
			b := newBadInput(t)
			named := strings.Count(c.FullName, "|") + 1
			for n := named; n < c.Min; n++ {
				b.refuse(args[:n], codeOf(c), arityText(c))
			}
			b.surplus(c, args)
			for i, kind := range kinds {
				for _, bad := range badWords[kind] {
					line := slices.Clone(args)
					line[named+i] = []byte(bad)
					b.refuse(line, codeOf(c), textOf(kind))
				}
			}
		})
	}
}

// TestBadOptional passes wrong values of optional arguments.
func TestBadOptional(t *testing.T) {
	for _, tt := range []struct {
		line string // ? is replaced by the argument
		bad  []string
	}{
		{"SCAN 0 COUNT ?", append([]string{"0"}, notWhole...)},
		{"SCAN 0 ? 1", []string{"", "x", tooLong}},
		{"HELLO ?", notWhole},
		{"HELLO 3 ? x", []string{"", "AUTH", "x", tooLong}},
		{"WATCH k ?", []string{"", tooLong}},
		{"CLIENT LIST ID ?", append([]string{"0"}, notWhole...)},
		{"CLIENT LIST TYPE ?", []string{"", "x"}},
		{"CLIENT KILL ID ?", append([]string{"0"}, notWhole...)},
		{"CLIENT KILL ? 1", []string{"", "x", "SKIPME"}},
		{"CLIENT UNBLOCK ?", []string{"", "x", "1.5"}},
		{"MEMORY USAGE k ? 1", []string{"", "x"}},
		{"RL.COMMIT held in=1 ?", []string{"", "1", "out=-1", "out=", "out=1.5", "in=1", "=1", "1x=1", "out=" + hugeNumber,
			megabyte + "=1", binary + "=1", strings.Repeat("n", 65) + "=1"}},
		{"SLOWLOG GET ?", []string{"", "x", "1.5"}},
		{"SHUTDOWN ?", []string{"", "x", tooLong}},
	} {
		for _, bad := range tt.bad {
			var line []string
			for _, w := range strings.Fields(tt.line) {
				if w == "?" {
					w = bad
				}
				line = append(line, w)
			}
			newBadInput(t).refuse(bytesOf(line), "", "")
		}
	}
}

// TestTokens sends each option of a command, and each two, without their values: the
// command must answer.
func TestTokens(t *testing.T) {
	for _, c := range newRegistry().Specs() {
		line := sampleLine(c)
		if silencing(bytesOf(line)) || c.Subs != nil {
			continue
		}
		tokens := append(tokensOf(c.Arguments), "1")
		h := newTestHandler("")
		for _, first := range [][]string{line, strings.Split(c.FullName, "|")} {
			for _, a := range tokens {
				for _, rest := range append([][]string{{a}}, pairsWith(a, tokens)...) {
					line := slices.Concat(first, rest)
					s := h.NewSession(session.Client{Close: func() {}, Wake: func() {}})
					s.Do(bytesOf(line))
					if s.Flush(); len(s.Out) == 0 && !s.Waits() {
						t.Errorf("%q has no answer", line)
					}
					s.Close()
				}
			}
		}
	}
}

func pairsWith(a string, words []string) (pairs [][]string) {
	for _, b := range words {
		pairs = append(pairs, []string{a, b})
	}
	return pairs
}

// tokensOf returns the fixed words of a usage.
func tokensOf(args []usage.Arg) (tokens []string) {
	for _, a := range args {
		if a.Token != "" {
			tokens = append(tokens, a.Token)
		}
		tokens = append(tokens, tokensOf(a.Args)...)
	}
	return tokens
}

// textOf returns the text that an error about an argument of the kind must contain.
func textOf(kind string) string {
	if text, ok := unnamed[kind]; ok {
		return text
	}
	return kind + " must be "
}

func codeOf(c *session.Spec) string {
	if c.Name == "CL.THROTTLE" || c.Name == "RL.THROTTLE" {
		return "Cell"
	}
	if c.Name == "EXEC" {
		return "EXECABORT"
	}
	return "ERR"
}

func arityText(c *session.Spec) string {
	if c.Flags&spec.OwnArity != 0 {
		return "error: Store error: Usage: " + c.FullName + " <key>"
	}
	return "wrong number of arguments for '" + c.FullName + "' command"
}

// A badInput is a server with a key of each algorithm, all partly used.
type badInput struct {
	*testing.T
	s      *session.Session
	before string
}

func newBadInput(t *testing.T) *badInput {
	s := newTestHandler("").NewSession(session.Client{Close: func() {}, Wake: func() {}})
	for _, sm := range samples[:len(takeSamples)+1] {
		if reply := ask(s, sm.line); reply[0] != '*' {
			t.Fatalf("%s: %s", sm.line, reply)
		}
	}
	ask(s, "RL.TOKEN k 5 10 2")
	return &badInput{t, s, stateOf(s.Handler())}
}

// stateOf returns the state of a server: each key with its Fingerprint.
func stateOf(h *session.Handler) string {
	found := make(map[string]int64)
	now := h.Now()
	h.Config().Engine().Scan(now, 0, 0, 1_000_000, func(key []byte, _ engine.Alg) { found[string(key)] = 0 })
	for key := range found {
		found[key] = h.Config().Engine().Fingerprint(now, 0, []byte(key))
	}
	text := fmt.Sprint(h.Config().Engine().Len())
	for _, key := range slices.Sorted(maps.Keys(found)) {
		text += fmt.Sprintf(" %s=%d", key, found[key])
	}
	return text
}

// surplus sends a word more than the command accepts.
func (b *badInput) surplus(c *session.Spec, args [][]byte) {
	b.Helper()
	if c.Name == "RL.ALL" {
		b.refuse(append(slices.Clone(args), []byte("1")), "ERR", "RL.ALL takes 1 to 64 limits of 5 arguments each")
		return
	}
	if c.Max >= usage.Unlimited {
		return
	}
	line := slices.Clone(args)
	for len(line) <= c.Max {
		line = append(line, []byte("1"))
	}
	text := arityText(c)
	if c.Surplus != nil {
		text = c.Surplus(line).Error()
	}
	b.refuse(line, codeOf(c), text)
}

// refuse sends a line and expects an error with the code, if code is not empty, and the
// text, on one line of bounded length, and no change of state.
func (b *badInput) refuse(line [][]byte, code, text string) {
	b.Helper()
	shown := excerptOf(line)
	b.s.Do(line)
	b.s.Flush()
	reply := string(b.s.Out)
	b.s.Out = b.s.Out[:0]
	if !strings.HasPrefix(reply, "-"+code) || !strings.Contains(reply, text) {
		b.Errorf("%s\n got %.300q\nwant %s and in the text %q", shown, reply, code, text)
	}
	if len(reply) > 512 || strings.IndexAny(reply, "\r\n\x00") != len(reply)-2 || !strings.HasSuffix(reply, "\r\n") {
		b.Errorf("%s: not one line of text: %.600q", shown, reply)
	}
	if state := stateOf(b.s.Handler()); state != b.before {
		b.Fatalf("%s changed\n%s\nto\n%s", shown, b.before, state)
	}
}

func excerptOf(line [][]byte) string {
	var shown []string
	for _, arg := range line {
		shown = append(shown, word.Excerpt(arg))
	}
	return strings.Join(shown, " ")
}

// FuzzArguments passes any bytes to the op commands: they must append ops within the
// bounds that the engine requires, or return an *resp.Error and append nothing.
func FuzzArguments(f *testing.F) {
	for i, sm := range samples {
		f.Add(uint8(i), bytes.ReplaceAll([]byte(sm.line), []byte(" "), []byte{0}))
	}
	f.Fuzz(func(t *testing.T, command uint8, line []byte) {
		args := bytes.Split(line, []byte{0})
		name, _, _ := strings.Cut(samples[int(command)%len(samples)].line, " ")
		args[0] = []byte(name)
		spec, err := newRegistry().Lookup(args, nil)
		if err != nil {
			return
		}
		b := &engine.Batch{Ops: make([]engine.Op, 1)}
		if spec.Asks != nil {
			if err := spec.Asks.Parse(new(session.Ask), new(checks.Request), args); err != nil && len(err.Error()) > 512 {
				t.Errorf("%s: error %v", excerptOf(args), err)
			}
			return
		}
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
		engine.New(engine.Options{Shards: 1, Commands: calls.Commands}).Apply(1e18, b)
	})
}

// wrongOp returns the bound of package engine that an op violates.
func wrongOp(op *engine.Op) string {
	p := &op.Params
	u := p.Alg.Usage()
	hasRate := u.Period == engine.Rate
	switch {
	case op.Kind == engine.Do: // the command itself checks its words
		return ""
	case op.Kind != engine.Flush && (len(op.Key) == 0 || len(op.Key) > engine.MaxKeyBytes):
		return "key"
	case op.N < 0 || op.N > engine.MaxN:
		return "N"
	case op.Kind != engine.Take && op.Kind != engine.Acquire:
		return ""
	case p.Limit < 1 || p.Limit > u.MaxLimit:
		return "Limit"
	case op.Kind == engine.Acquire && (len(op.ID) == 0 || len(op.ID) > engine.MaxIDBytes):
		return "ID"
	case hasRate && (p.Count < 1 || p.Count > engine.MaxRateCount || p.Count > p.Period ||
		p.Period > engine.MaxRatePeriod):
		return "rate"
	case p.Calendar != engine.NoCalendar:
		return map[bool]string{true: "Calendar"}[u.Period != engine.CalendarWindow || p.Period != 0]
	case !hasRate && (p.Period < engine.MinPeriod || p.Period > engine.MaxPeriod || p.Count != 0):
		return "Period"
	}
	return ""
}
