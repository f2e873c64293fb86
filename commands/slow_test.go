package commands

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/session"
)

// slowSession is a session with ops that take 20 ms.
func slowSession() *session.Session {
	h := NewHandler(session.Config{Exec: slowExec(20 * time.Millisecond), Clock: backend.NewTestClock(testStart),
		Version: "0"})
	return h.NewSession(session.Client{Addr: "127.0.0.1:9"})
}

func TestSlowLog(t *testing.T) {
	s := slowSession()
	ask(s, "CLIENT SETNAME me", "PING", "DEL a "+strings.Repeat("b", 130)+strings.Repeat(" c", 40))
	ask(s, "MULTI", "DEL a", "EXEC")
	got := ask(s, "SLOWLOG LEN")
	if got != ":2|" {
		t.Fatalf("SLOWLOG LEN %s, want 2: DEL and EXEC", got)
	}
	entry := regexp.MustCompile(`^\*1\|\*6\|:1\|:\d{10}\|:[2-9]\d{4}\|\*1\|\$4\|EXEC\|\$11\|127\.0\.0\.1:9\|\$2\|me\|$`)
	if got := ask(s, "SLOWLOG GET 1"); !entry.MatchString(got) {
		t.Errorf("SLOWLOG GET 1: %s", got)
	}
	got = ask(s, "SLOWLOG GET")
	for _, want := range []string{"*2|*6|:1|", "*6|:0|",
		"|*32|$3|DEL|$1|a|$146|" + strings.Repeat("b", 128) + "... (2 more bytes)|", "$23|... (12 more arguments)|"} {
		if !strings.Contains(got, want) {
			t.Errorf("SLOWLOG GET has no %s\n%s", want, got)
		}
	}
	for _, tt := range []struct{ line, then, want string }{
		{"CONFIG SET slowlog-max-len 1", "SLOWLOG LEN", ":1|"},
		{"CONFIG SET slowlog-log-slower-than -1", "DEL a", ":1|"},
		{"PING", "SLOWLOG LEN", ":1|"},
		{"SLOWLOG RESET", "SLOWLOG LEN", ":0|"},
		{"CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 100", "PING", "+PONG|"},
		{"SLOWLOG RESET", "SLOWLOG LEN", ":1|"}, // RESET itself
		{"AUTH secret", "SLOWLOG LEN", ":3|"},
	} {
		ask(s, tt.line)
		if got := ask(s, tt.then); got != tt.want {
			t.Errorf("%s, then %s: %s, want %s", tt.line, tt.then, got, tt.want)
		}
	}
	if got := ask(s, "SLOWLOG GET -1"); strings.Contains(got, "secret") || !strings.Contains(got, "(redacted)") {
		t.Errorf("the password is in the log: %s", got)
	}
}

func TestLatencyEvents(t *testing.T) {
	s := slowSession()
	ask(s, "DEL a")
	if got := ask(s, "LATENCY LATEST"); got != "*0|" {
		t.Errorf("LATENCY LATEST %s before the threshold is set, want none", got)
	}
	ask(s, "CONFIG SET latency-monitor-threshold 10")
	ask(s, "DEL a")
	ask(s, "UNLINK a")
	ask(s, "PING")
	const millis = `:([2-9]\d|\d{3,})\|` // 20 or more
	const sample = `:\d{10}\|` + millis
	for line, want := range map[string]string{
		"LATENCY LATEST": `^\*2\|\*4\|\$7\|command\|` + sample + millis + `\*4\|\$12\|fast-command\|` + sample +
			millis + `$`,
		"LATENCY HISTORY command":      `^\*1\|\*2\|` + sample + `$`,
		"LATENCY HISTORY nope":         `^\*0\|$`,
		"LATENCY DOCTOR":               `2 kinds of events took at least 10 ms`,
		"LATENCY HISTOGRAM del":        `^\*2\|\$3\|del\|\*4\|\$5\|calls\|:2\|\$14\|histogram_usec\|\*[24]\|:\d+\|:\d\|`,
		"LATENCY HISTOGRAM client foo": `^\*0\|$`,
	} {
		if got := ask(s, line); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if got := ask(s, "LATENCY RESET command nope", "LATENCY RESET", "LATENCY RESET"); got != ":1|:1|:0|" {
		t.Errorf("LATENCY RESET: %s", got)
	}
	text := fields(infoText(s.Handler(), words("latencystats commandstats")))
	if !regexp.MustCompile(`^p50=\d{5,}\.\d{3},p99=\d{5,}\.\d{3},p99\.9=\d{5,}\.\d{3}$`).MatchString(text["latency_percentiles_usec_del"]) {
		t.Errorf("latency_percentiles_usec_del:%s", text["latency_percentiles_usec_del"])
	}
	if !strings.HasPrefix(text["cmdstat_del"], "calls=2,usec=") {
		t.Errorf("cmdstat_del:%s", text["cmdstat_del"])
	}
}

// BenchmarkSystemClock measures the clock reading of each batch.
func BenchmarkSystemClock(b *testing.B) {
	c := backend.NewSystemClock(0)
	for b.Loop() {
		c.Now()
	}
}
