package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"limitsrv/engine"
)

func TestTableIsComplete(t *testing.T) {
	for _, c := range newRegistry(table).everything() {
		forms := 0
		for _, has := range []bool{c.Op != nil, c.Run != nil && c.Sub == nil, c.Sub != nil} {
			if has {
				forms++
			}
		}
		if forms != 1 || (c.Op != nil) != (c.Reply != nil) {
			t.Errorf("%s is not one of an op command, a run command, and a container", c.name)
		}
		if c.Name != strings.ToUpper(c.Name) || strings.ContainsAny(c.Name, " |") {
			t.Errorf("%s: name %q", c.name, c.Name)
		}
		if !strings.HasSuffix(c.Summary, ".") || c.Complexity == "" || c.Since == "" || c.Group == "" {
			t.Errorf("%s: summary %q, complexity %q, since %q, group %q", c.name, c.Summary, c.Complexity, c.Since, c.Group)
		}
		if c.Flags&Write != 0 && c.Flags&ReadOnly != 0 {
			t.Errorf("%s: reads only, and writes", c.name)
		}
		if line, at := sampleLine(c), c.keyAt(); at != c.Keys.First && !c.Keys.Movable {
			t.Errorf("%s: the first key is argument %d of %q, the table says %d", c.name, at, line, c.Keys.First)
		}
	}
}

// goodWords are words that are right for the arguments of that name. An argument
// in badSamples refuses what those hold.
var goodWords = map[string]string{
	"key": "k", "capacity": "5", "limit": "5", "rate": "10", "window": "10s", "ttl": "10s", "n": "1", "id": "me",
	"alg": "TOKEN", "p1": "5", "p2": "10",
	"max_burst": "5", "count": "2", "period": "10", "quantity": "1", "tokens_per_period": "2", "count_per_period": "2",
	"cursor": "0", "index": "0", "numreplicas": "0", "timeout": "0", "duration": "1", "client-id": "1",
	"protover": "2", "type": "normal", "ip:port": "1.2.3.4:5", "command": "PING", "command-name": "ping",
}

var (
	notWhole  = []string{"", "-1", "x", "1.5", "1e3", " 1", "99999999999999999999999999"}
	notNumber = []string{"", "-1", "x", "1e3", " 1", "99999999999999999999999999"}
	huge      = strings.Repeat("h", engine.MaxKeyBytes+1)
)

// badSamples are what the arguments of a name refuse.
var badSamples = map[string][]string{
	"key": {"", huge}, "id": {"", huge}, "alg": {"", "LEASE", "x", huge},
	"capacity": append([]string{"0"}, notWhole...), "limit": append([]string{"0"}, notWhole...), "n": notWhole,
	"rate": append([]string{"0", "1/0", "/s", "1/"}, notNumber...),
	"p1":   append([]string{"0"}, notWhole...), "p2": append([]string{"0"}, notNumber...),
	"window": append([]string{"0", "11y"}, notNumber...), "ttl": append([]string{"0", "day"}, notNumber...),
	"max_burst": notWhole, "period": append([]string{"0"}, "", "-1", "x"), "tokens_per_period": append([]string{"0"}, notWhole...),
	"count_per_period": append([]string{"0"}, notWhole...), "quantity": {"", "x", "1.5", "99999999999999999999999999"},
	"cursor": notWhole, "index": notWhole, "numreplicas": notWhole, "duration": append([]string{"0"}, notNumber...),
}

// sampleLine is a shortest right line of a command.
func sampleLine(c *spec) []string {
	line := strings.Split(c.name, "|")
	var add func([]arg)
	add = func(args []arg) {
		for _, a := range args {
			if a.optional {
				continue
			}
			if a.token != "" {
				line = append(line, a.token)
			}
			switch a.kind {
			case word:
				line = append(line, sampleOf(a.name))
			case oneOf:
				add(a.args[:1])
			case block:
				add(a.args)
			}
		}
	}
	add(c.args)
	return line
}

func sampleOf(name string) string {
	if s := goodWords[name]; s != "" {
		return s
	}
	return "word"
}

// keyAt is where the first argument that is a key stands, 0 if none is.
func (c *spec) keyAt() int {
	at := strings.Count(c.name, "|") + 1
	flat := flatten(c.args)
	for i, a := range flat {
		if a.name == "key" && a.kind == word {
			return at + i
		}
	}
	return 0
}

func flatten(args []arg) (flat []arg) {
	for _, a := range args {
		if a.kind == block {
			flat = append(flat, flatten(a.args)...)
			continue
		}
		flat = append(flat, a)
	}
	return flat
}

// state is what a server keeps: each key with its Fingerprint.
func (h *Handler) state() string {
	found := make(map[string]int64)
	now := h.now()
	h.config.Engine.Scan(now, 0, 1_000_000, func(key []byte, _ engine.Alg) { found[string(key)] = 0 })
	for key := range found {
		found[key] = h.config.Engine.Fingerprint(now, []byte(key))
	}
	text := fmt.Sprint(h.config.Engine.Len())
	for _, key := range slices.Sorted(maps.Keys(found)) {
		text += fmt.Sprintf(" %s=%d", key, found[key])
	}
	return text
}

// TestBadInput gives every command of the table every argument missing, surplus,
// empty, negative, huge and no number, and wants an error and that nothing
// changed.
func TestBadInput(t *testing.T) {
	for _, c := range newRegistry(table).everything() {
		line := sampleLine(c)
		if silencing(bytesOf(line)) || c.Sub != nil {
			continue
		}
		for cut := strings.Count(c.name, "|") + 1; cut < c.min; cut++ {
			checkRefused(t, line[:cut], "wrong number of arguments for '"+c.name+"' command")
		}
		if c.max < unlimited {
			surplus := append(slices.Clone(line), slices.Repeat([]string{"x"}, c.max-len(line)+1)...)
			checkRefused(t, surplus, "wrong number of arguments for '"+c.name+"' command")
		}
		at := strings.Count(c.name, "|") + 1
		for i, a := range flatten(c.args) {
			if a.optional || a.kind != word {
				break
			}
			for _, bad := range badSamples[a.name] {
				wrong := slices.Clone(line)
				wrong[at+i] = bad
				checkRefused(t, wrong, "")
			}
		}
	}
}

// TestBadOptional gives the arguments that may be left out wrong values.
func TestBadOptional(t *testing.T) {
	for _, tt := range []struct {
		line string // ? stands for the argument
		bad  []string
	}{
		{"RL.TOKEN k 5 10 ?", notWhole},
		{"RL.LEAKY k 5 10 ?", notWhole},
		{"RL.FIXED k 5 10s ?", notWhole},
		{"RL.SLIDE k 5 10s ?", notWhole},
		{"RL.LOG k 5 10s ?", notWhole},
		{"RL.TOKEN k 5 10 1 ?", []string{"", "x", "PARTIAL!", "1", huge}},
		{"RL.ACQUIRE k 5 10s me ?", []string{"", "x", "PARTIAL", "1", huge}},
		{"RL.ALL TOKEN k 5 10 1 TOKEN k 5 10 ?", notWhole},
		{"RL.ALL TOKEN k 5 10 1 TOKEN ? 5 10 1", []string{"", huge}},
		{"CL.THROTTLE k 5 2 10 ?", []string{"", "x", "1.5", "99999999999999999999999999"}},
		{"THROTTLE k 5 2 10 ?", []string{"", "-1", "x", "1.5", "99999999999999999999999999"}},
		{"GCRA k 5 2 10 TOKENS ?", append([]string{"0"}, notWhole...)},
		{"GCRA k 5 2 10 ? 1", []string{"", "COST", huge}},
		{"DEL k ?", []string{"", huge}},
		{"SCAN 0 COUNT ?", append([]string{"0"}, notWhole...)},
		{"SCAN 0 ? 1", []string{"", "x", huge}},
		{"HELLO ?", notWhole},
		{"HELLO 3 ? x", []string{"", "AUTH", "x", huge}},
		{"SHUTDOWN ?", []string{"", "x", huge}},
	} {
		for _, bad := range tt.bad {
			var line []string
			for _, w := range strings.Fields(tt.line) {
				if w == "?" {
					w = bad
				}
				line = append(line, w)
			}
			checkRefused(t, line, "")
		}
	}
}

// checkRefused sends a line to a server with a few keys. It wants an error of
// that text, if one is told, and that the keys stay as they are.
func checkRefused(t *testing.T, line []string, text string) {
	t.Helper()
	h := newTestHandler("")
	s := h.NewSession(Client{Close: func() {}, Wake: func() {}})
	ask(s, "RL.TOKEN k 5 10 2", "RL.LOG other 5 10s 2", "RL.ACQUIRE lease 5 10s me")
	before := h.state()
	s.Do(bytesOf(line))
	s.Flush()
	replies, err := readReplies(s.Out)
	if err != nil || len(replies) != 1 || !strings.HasPrefix(replies[0], "-") {
		t.Errorf("%.100q: replies %q, %v, want an error", line, replies, err)
		return
	}
	if text != "" && replies[0] != "-ERR "+text {
		t.Errorf("%.100q: %s, want -ERR %s", line, replies[0], text)
	}
	if after := h.state(); after != before {
		t.Errorf("%.100q: keys are %s, were %s", line, after, before)
	}
}

func bytesOf(line []string) [][]byte {
	args := make([][]byte, len(line))
	for i, w := range line {
		args[i] = []byte(w)
	}
	return args
}

// TestSampleLines shows that the lines that TestBadInput spoils were right.
func TestSampleLines(t *testing.T) {
	for _, c := range newRegistry(table).everything() {
		line := sampleLine(c)
		if c.Group != limiterGroup {
			continue
		}
		s := newTestHandler("").NewSession(Client{})
		if got := ask(s, strings.Join(line, " ")); strings.HasPrefix(got, "-") {
			t.Errorf("%q: %s", line, got)
		}
	}
}
