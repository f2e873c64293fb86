package commands

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/session"
	"limitsrv/engine"
)

// TestLongRun takes all tokens that a rate of many digits earns in 3 000 s: no token is
// missing.
func TestLongRun(t *testing.T) {
	h := newTestHandler("")
	s := h.NewSession(session.Client{})
	const capacity = engine.MaxLimit
	ask(s, fmt.Sprintf("RL.TOKEN k %d 278954392.620290 %d", int64(capacity), int64(capacity)))
	if err := h.Config().TestClock.Advance(3000e9); err != nil {
		t.Fatal(err)
	}
	reply := five(ask(s, fmt.Sprintf("RL.TOKEN k %d 278954392.620290 0", int64(capacity))))
	if remaining := strings.Split(reply, ",")[2]; remaining != "836863177860" {
		t.Errorf("earned %s tokens in 3000 s at 278954392.620290 a second, want 836863177860", remaining)
	}
}

// limitLine returns the words of a random line on limits.
func limitLine(r *rand.Rand) []string {
	key := func() string { return fmt.Sprint("key", r.IntN(6)) }
	if r.IntN(3) == 0 {
		line := []string{"RL.ALL"}
		for range 1 + r.IntN(3) {
			limit := []string{"TOKEN %s 5 1 %d", "LEAKY %s 5 1 %d", "FIXED %s 5 10 %d", "SLIDE %s 5 10 %d", "LOG %s 5 10 %d",
				"LEASE %s 5 10 %d", "TOKEN %s x 1 %d"}[r.IntN(7)]
			line = append(line, strings.Fields(fmt.Sprintf(limit, key(), r.IntN(4)))...)
		}
		if len(line) > 6 && r.IntN(20) == 0 {
			line = line[:len(line)-1]
		}
		return withID(r, line)
	}
	lines := []struct{ name, args string }{
		{"RL.TOKEN", "5 1 %d"}, {"RL.TOKEN", "5 2/s %d PARTIAL"}, {"RL.TOKEN", "5 1 1 SHADOW"}, {"RL.LEAKY", "5 1 %d"},
		{"RL.FIXED", "5 10 %d"},
		{"RL.SLIDE", "5 10 %d"}, {"RL.LOG", "5 10 %d"}, {"RL.PEEK", ""}, {"RL.REFUND", "%d"}, {"RL.CHARGE", "%d"},
		{"RL.ACQUIRE", "2 10 holder%d"},
		{"RL.RELEASE", "holder%d"}, {"CL.THROTTLE", "3 1 2 %d"}, {"RL.THROTTLE", "3 1 2 -%d"}, {"THROTTLE", "3 1 2 %d"},
		{"GCRA", "3 1 2 TOKENS %d"},
		{"RL.RESET", ""}, {"SET", "text"}, {"RL.TOKEN", "x 1"}, {"RL.TOKEN", "5 1 %d x"}, {"CL.THROTTLE", "5"},
		{"GCRA", "3 1 0"},
	}
	line := lines[r.IntN(len(lines))]
	if strings.Contains(line.args, "%d") {
		line.args = fmt.Sprintf(line.args, r.IntN(4))
	}
	return withID(r, strings.Fields(line.name+" "+key()+" "+line.args))
}

// withID gives some lines that may have an id one of a few ids.
func withID(r *rand.Rand, line []string) []string {
	switch line[0] {
	case "RL.TOKEN", "RL.LEAKY", "RL.FIXED", "RL.SLIDE", "RL.LOG", "RL.REFUND", "RL.CHARGE", "RL.ALL":
		if r.IntN(3) == 0 {
			line = append(line, "ONCE", fmt.Sprint("id", r.IntN(9)))
		}
	}
	return line
}

// asScript returns a script that calls a line, and the arguments for it: with declared
// keys, or with words that it does not know.
func asScript(line []string, declared bool) (text string, args []string) {
	if !declared {
		return "return(redis.pcall(unpack(ARGV)))", append([]string{"0"}, line...)
	}
	var keys, rest []string
	text = "return(redis.pcall('" + line[0] + "'"
	for i, word := range line[1:] {
		if line[0] == "RL.ALL" && i%5 == 1 || line[0] != "RL.ALL" && i == 0 || line[i] == "ONCE" {
			keys = append(keys, word)
			text += fmt.Sprintf(",KEYS[%d]", len(keys))
		} else {
			rest = append(rest, word)
			text += fmt.Sprintf(",ARGV[%d]", len(rest))
		}
	}
	return text + "))", slices.Concat([]string{fmt.Sprint(len(keys))}, keys, rest)
}

// TestLimitsFromScripts sends random lines to one server, and by scripts to another: all
// answers are equal, and so is the state.
func TestLimitsFromScripts(t *testing.T) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 14))
		direct, scripted := newTestHandler(""), newTestHandler("")
		to, by := direct.NewSession(session.Client{}), scripted.NewSession(session.Client{})
		for step := range 1000 {
			for _, h := range []*session.Handler{direct, scripted} {
				if err := h.Config().TestClock.Advance(time.Duration(step) * 1337 * time.Microsecond); err != nil {
					t.Fatal(err)
				}
			}
			words := limitLine(r)
			line := strings.Join(words, " ")
			text, args := asScript(words, step%2 == 0)
			ask(to, "SCRIPT LOAD "+text) // scripts are state too
			ask(by, "SCRIPT LOAD "+text)
			script := fmt.Sprintf("EVAL %s %s", text, strings.Join(args, " "))
			want := strings.Replace(ask(to, line), "*-1", "$-1", 1) // Lua has one nil
			if got := ask(by, script); got != want {
				t.Fatalf("seed %d, step %d: %s answers %q, want %q", seed, step, script, got, want)
			}
		}
		if got, want := scripted.Config().Engine().Digest(scripted.Now()),
			direct.Config().Engine().Digest(direct.Now()); got != want {
			t.Errorf("seed %d: digest %x, want %x", seed, got, want)
		}
	}
}
