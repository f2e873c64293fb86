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
		if line, at := sampleLine(c), c.keyAt(); at != c.Keys.First {
			t.Errorf("%s: the first key is argument %d of %q, the table says %d", c.name, at, line, c.Keys.First)
		}
	}
}

// goodWords are words that are right for the arguments of that name. An argument
// in badWords refuses what those hold.
var goodWords = map[string]string{
	"key": "k", "cursor": "0", "index": "0", "numreplicas": "0", "timeout": "0", "duration": "1", "client-id": "1",
	"ip:port": "1.2.3.4:5", "command": "PING",
	"backup-name": "daily-1",
}

var (
	notWhole = []string{"", "-1", "x", "1.5", "1e3", " 1", "99999999999999999999999999"}
	tooLong  = strings.Repeat("h", engine.MaxKeyBytes+1)
)

// badWords are what the arguments of a name refuse.
var badWords = map[string][]string{
	"key": {"", tooLong}, "cursor": notWhole, "index": notWhole, "numreplicas": {"", "x", "1.5"}, "timeout": notWhole,
	"duration": {"", "0", "-1", "x", "1e3", " 1", "11y", "99999999999999999999999999"},
	"ip:port":  {"", "x"}, "backup-name": {"", "Daily", "a.b", "../a", "a/b", "a b", strings.Repeat("a", maxBackupName+1), "\x00"},
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

// TestBadInput gives every run command and subcommand of the table every argument
// missing, surplus, empty, negative, huge and no number, and wants an error and
// that nothing changed. TestBadArguments does so with the op commands.
func TestBadInput(t *testing.T) {
	for _, c := range newRegistry(table).everything() {
		line := sampleLine(c)
		if silencing(bytesOf(line)) || c.Sub != nil || c.Op != nil && !c.isSub {
			continue
		}
		at := strings.Count(c.name, "|") + 1
		for cut := at; cut < c.min; cut++ {
			checkRefused(t, line[:cut], "wrong number of arguments for '"+c.name+"' command")
		}
		if c.max < unlimited {
			surplus := append(slices.Clone(line), slices.Repeat([]string{"x"}, c.max-len(line)+1)...)
			checkRefused(t, surplus, "wrong number of arguments for '"+c.name+"' command")
		}
		for i, a := range flatten(c.args) {
			if a.optional || a.kind != word {
				break
			}
			for _, bad := range badWords[a.name] {
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
