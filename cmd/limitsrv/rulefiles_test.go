package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"limitsrv/commands/rules/boundtest"
	"limitsrv/internal/respclient"
	"limitsrv/internal/testing/browser"
)

// send sends arguments that may have any bytes, and returns the reply.
func (w *wire) send(t *testing.T, args ...string) any {
	t.Helper()
	var line strings.Builder
	fmt.Fprintf(&line, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&line, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(w, line.String()); err != nil {
		t.Fatal(err)
	}
	reply, err := respclient.Read(w.in)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// TestRuleBounds loads texts beyond each bound, by RL.RULES LOAD and limitsrv rules check: both
// name the line, the allowed and the given value.
func TestRuleBounds(t *testing.T) {
	w := wired(t, serve(t).address)
	file := filepath.Join(t.TempDir(), "rules.yaml")
	check := func(text string) (string, int) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		code := runRules(call{args: []string{"check", file}, stdout: &out, stderr: &out})
		return out.String(), code
	}
	for _, b := range boundtest.All() {
		if out, code := check(b.Good); code != exitOK {
			t.Errorf("%s: at the bound rules check says %s", b.Name, out)
		}
		if out, code := check(b.Bad); code != exitFailure ||
			!strings.HasPrefix(out, fmt.Sprintf("%s:%d: %s", file, b.Line, b.Mistake)) {
			t.Errorf("%s: rules check returns %d and says %.300s", b.Name, code, out)
		}
		got := w.send(t, "RL.RULES", "LOAD", b.Bad)
		if text, _ := got.(respclient.Error); !strings.HasPrefix(string(text),
			fmt.Sprintf("ERR rules: line %d: %s", b.Line, b.Mistake)) {
			t.Errorf("%s: RL.RULES LOAD replies %.300v", b.Name, got)
		}
	}
	if got := w.do(t, "RL.RULES VERSION").([]any)[0]; got != int64(0) {
		t.Errorf("version %v after loads that failed, want 0", got)
	}
}

// TestRequestBounds asks beyond the bounds of a request.
func TestRequestBounds(t *testing.T) {
	w := wired(t, serve(t).address)
	rules := "domain: api\nrules:\n" +
		boundtest.Repeat(5, "  - {name: r%d, per: [k], limits: ["+boundtest.Repeat(16, "9/s name n%d", ", ")+"]}", "\n")
	if got, failed := w.send(t, "RL.RULES", "LOAD", rules).(respclient.Error); failed {
		t.Fatal(got)
	}
	pairs := func(n int) []string { return strings.Fields(strings.Repeat("a b ", n)) }
	and := func(n int) []string { return strings.Fields("a b" + strings.Repeat(" AND a b", n-1)) }
	for _, tt := range []struct {
		name, domain string
		args         []string
		want         string
	}{
		{"a domain", strings.Repeat("d", 257), pairs(1), "domain must be 1 to 256 bytes long, got 'ddd"},
		{"no domain", "", pairs(1), "domain must be 1 to 256 bytes long, got ''"},
		{"attributes", "api", pairs(33), "a descriptor may have 32 attributes, got 33"},
		{"descriptors", "api", and(65), "a request must have 1 to 64 descriptors, got 65"},
		{"a key", "api", []string{strings.Repeat("k", 257), "v"}, "1 to 256 bytes long, got 'kkk"},
		{"a value", "api", []string{"k", strings.Repeat("v", 1025)}, "at most 1024 bytes long, got 'vvv"},
		{"limits", "api", []string{"k", "v"}, "more than 64 limits apply: 80"},
		{"a key without a value", "api", []string{"k"}, "wrong number of arguments"},
	} {
		got := w.send(t, append([]string{"RL.CHECK", tt.domain}, tt.args...)...)
		if text, _ := got.(respclient.Error); !strings.HasPrefix(string(text), "ERR ") ||
			!strings.Contains(string(text), tt.want) {
			t.Errorf("%s: RL.CHECK replies %.300v, want %s", tt.name, got, tt.want)
		}
	}
}

// TestRuleFileMistakes starts a server with a mistake in its rules, and makes one later: the old
// rules decide on, and the log, INFO, the metrics and the page have the mistake.
func TestRuleFileMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const bad = "domain: api\nrules:\n  - {name: login, limits: [5 a minute]}\n"
	mistake := file + ":3: "
	write(bad)
	if _, stderr, code := runs(t, limitsrv(nil, "--listen", "127.0.0.1:0", "--rules", file)); code == 0 ||
		!strings.Contains(stderr, mistake) {
		t.Errorf("with a mistake at the start the exit code is %d, and it says %s", code, stderr)
	}
	write(rulesText(5))
	a := startAdminServer(t, nil, "--rules", file)
	w := wired(t, a.address)
	w.loaded(t)
	write(bad)
	until(t, "the mistake is seen", func() bool { return w.info(t, "rules_ok") == "0" })
	if got := w.do(t, "RL.CHECK api ip 1").([]any); got[1] != int64(5) {
		t.Errorf("with a mistake in the file RL.CHECK replies %v", got)
	}
	if got := w.info(t, "rules_file_error"); !strings.Contains(got, mistake) || w.info(t, "rules_version") != "1" ||
		w.info(t, "rules_load_errors") != "1" {
		t.Errorf("INFO has the error %q of version %s", got, w.info(t, "rules_version"))
	}
	_, metrics := a.asks(t, "", "/metrics", "")
	for _, want := range []string{"\nlimitsrv_rules_ok 0\n", "\nlimitsrv_rules_load_errors_total 1\n",
		"\nlimitsrv_rules_version 1\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
	tab := browser.Open(t)
	tab.Visit(a.url)
	tab.UntilText("#ready", "! Rules not loaded")
	tab.UntilText("#trouble", "The files of --rules have a mistake. Version 1 of the rules stays in use: rules: "+mistake)
	write(rulesText(6))
	until(t, "the next rules are in use",
		func() bool { return w.info(t, "rules_version") == "2" && w.info(t, "rules_ok") == "1" })
	tab.UntilText("#ready", "✓ Ready")
	tab.UntilText("#rules-limits", "6/1m slide")
	a.log.Await(t, "have a mistake")
	if n := strings.Count(a.logged(), "have a mistake"); n != 1 {
		t.Errorf("the log has the mistake %d times, want once:\n%s", n, a.logged())
	}
}
