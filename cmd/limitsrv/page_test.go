package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"limitsrv/internal/testing/browser"
)

// resetButton is the button that resets the key that was looked up.
const resetButton = "#lookup-result [data-action=reset]"

// load sends a command about a thousand times per second until stop is called.
func load(t *testing.T, address, command string) (stop func()) {
	t.Helper()
	w := wired(t, address)
	over, ended := make(chan struct{}), make(chan struct{})
	pipeline := make([]string, 40)
	for i := range pipeline {
		pipeline[i] = command
	}
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			case <-time.After(10 * time.Millisecond):
			}
			if _, err := w.all(pipeline...); err != nil {
				return
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// number returns a JavaScript expression for the first number in an element.
func number(selector string) string {
	return fmt.Sprintf("parseInt(document.querySelector(%q)?.innerText.replaceAll(',', '') || '0')", selector)
}

// TestPageShowsLoad checks that the page shows requests within seconds.
func TestPageShowsLoad(t *testing.T) {
	a := startAdminServer(t, nil)
	tab := browser.Open(t)
	tab.Screen(1280, 900, "light")
	tab.Visit(a.url)
	tab.UntilText("#ready", "Ready")
	tab.UntilText("#denied", "No key was denied")
	stop := load(t, a.address, "RL.TOKEN noisy 100 1000")
	defer stop()
	tab.Until(number("[data-column=allowed]") + " > 0")
	tab.Until(number("[data-column=denied]") + " > 0")
	tab.Until(number("[data-column=keys]") + " === 1")
	tab.Until(number("[data-column=connections]") + " > 0")
	tab.Until(number("[data-column=p99_us]") + " > 0")
	tab.Until(number("[data-column=memory_bytes]") + " > 0")
	for _, table := range []string{"#denied", "#hot"} {
		tab.UntilText(table+" tbody", "noisy")
		shown := browser.Value[int](tab, number(table+" tbody td"))
		tab.Until(fmt.Sprintf("%s > %d", number(table+" tbody td"), shown))
	}
	tab.UntilText("#algorithms", "TOKEN")
	tab.Until("!document.querySelector('#lookup-result').checkVisibility()")
	if tab.Sees("#cluster") || tab.Sees("#who") {
		t.Error("the page shows a cluster or a user")
	}
	tab.StaysAt(a.url)
}

// TestPageKeys looks up a key of each algorithm, and resets a key.
func TestPageKeys(t *testing.T) {
	a := startAdminServer(t, nil)
	w := wired(t, a.address)
	tab := browser.Open(t)
	tab.Screen(1280, 900, "dark")
	tab.Visit(a.url)
	for _, tt := range []struct{ command, key, limit, use string }{
		{"RL.TOKEN token 10 0.001 4", "token", "Token bucket: 10 tokens, refilled at 1 per 1,000 seconds",
			"6 of 10 remaining"},
		{"RL.LEAKY leaky 10 0.001 10", "leaky", "Leaky bucket: a queue of 10, drained at", "0 of 10 remaining"},
		{"RL.FIXED fixed 1000 year 1", "fixed", "Fixed window: 1,000 tokens in each calendar year (UTC)",
			"999 of 1,000 remaining"},
		{"RL.SLIDE slide 100 7d 1", "slide", "Sliding window: about 100 tokens in any 7 days", "99 of 100 remaining"},
		{"RL.LOG log 5 1h 5", "log", "Sliding log: never more than 5 tokens in any 1 hour", "0 of 5 remaining"},
		{"RL.ACQUIRE lease 2 30m me", "lease", "Concurrency: 2 at a time, each for at most 30 minutes", "1 of 2 remaining"},
		{`RL.LOG "\x00\xff\\ \n" 5 1h 2`, `\u{0}\xff\\ \u{a}`, "Sliding log", "3 of 5 remaining"},
	} {
		w.do(t, tt.command)
		tab.Fill("#lookup-key", tt.key+kb.Enter)
		tab.UntilText("#found-key", tt.key)
		tab.UntilText("#found-limit", tt.limit)
		tab.UntilText("#found-use", tt.use)
	}
	tab.Fill("#lookup-key", "log"+kb.Enter)
	tab.UntilText("#found-key", "log")
	tab.UntilText("#found-wait", "in 59 min")
	tab.Click(resetButton)
	tab.Click("#reset button[value=cancel]")
	tab.Until("!document.getElementById('reset').open")
	if got := w.do(t, "EXISTS log"); got != int64(1) {
		t.Errorf("EXISTS after a cancelled reset: %v", got)
	}
	tab.Click(resetButton)
	tab.Click("#reset button[value=reset]")
	tab.UntilText("#said", "Reset: log")
	tab.UntilText("#found-limit", "fully reset")
	if got := w.do(t, "EXISTS log token"); got != int64(1) {
		t.Errorf("EXISTS after a reset of one of two: %v", got)
	}
	tab.Fill("#lookup-key", "nothing"+kb.Enter)
	tab.UntilText("#lookup-said", "No record of this key")
}

// TestPageHostileKeys uses key names that attempt to inject markup or scripts.
func TestPageHostileKeys(t *testing.T) {
	a := startAdminServer(t, nil)
	w := wired(t, a.address)
	for _, key := range []string{
		`<img src=x onerror='document.title=1'>`, `<script>document.title=1</script>`, `\xe2\x80\xaegnp.exe`, `\xff\xfe\x00`,
		strings.Repeat("w", 900),
	} {
		for range 3 {
			w.do(t, fmt.Sprintf(`RL.LOG "%s" 1 1h`, key))
		}
	}
	tab := browser.Open(t)
	tab.Screen(360, 740, "dark")
	tab.Visit(a.url)
	for _, table := range []string{"#denied", "#hot"} {
		for _, want := range []string{"<img src=x onerror='document.title=1'>", "<script>", `\u{202e}gnp.exe`,
			`\xff\xfe\u{0}`, "wwww"} {
			tab.UntilText(table, want)
		}
	}
	tab.Click("#denied tbody button")
	tab.UntilText("#found-use", "0 of 1 remaining")
	tab.Click(resetButton)
	if over := browser.Value[int](tab, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
		t.Errorf("the page is %d wider than a phone", over)
	}
	if made := browser.Value[int](tab, "document.querySelectorAll('main img, main script, dialog img').length"); made > 0 {
		t.Errorf("keys created %d elements", made)
	}
	if title := browser.Value[string](tab, "document.title"); title == "1" {
		t.Error("a key has run a script")
	}
	tab.StaysAt(a.url)
}

// withUsers writes a users file: root in the group admin, and guest in the group peek.
func withUsers(t *testing.T) (file string) {
	t.Helper()
	text := "users:\n"
	for name, group := range map[string]string{"root": "admin", "guest": "peek"} {
		text += fmt.Sprintf("  - name: %s\n    hash: %s\n    groups: [%s]\n    keys: [\"*\"]\n", name,
			hashOf(t, name+"'s secret"), group)
	}
	file = filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPageLogins(t *testing.T) {
	a := startAdminServer(t, nil, "--users", withUsers(t))
	w := wired(t, a.address)
	w.do(t, `AUTH root "root's secret"`)
	w.do(t, "RL.LOG precious 5 1h 5")
	for _, path := range []string{"/api/now", "/api/history", "/api/top?by=hot&window=hour&count=9",
		"/api/key?raw=cHJlY2lvdXM", "/api/keys?prefix=&cursor=0&count=1", "/api/rules", "/api/match?domain=YQ&a=YQ.YQ",
		"/metrics"} {
		a.wants(t, "", path, "", http.StatusUnauthorized, "")
	}
	w.do(t, `RL.RULES LOAD "domain: api\nrules:\n  - {name: one, per: [ip], limits: 100/year}\n"`)
	w.do(t, "RL.OVERRIDE SET api ip 203.0.113.7 DENY")
	until(t, "a user of the group admin sees overrides", func() bool {
		_, text := a.asks(t, "root:root's secret", "/api/rules", "")
		return strings.Contains(text, `"effect":"DENY"`)
	})
	if _, text := a.asks(t, "guest:guest's secret", "/api/rules", ""); !strings.Contains(text, `"overrides":null`) {
		t.Errorf("a user of the group peek sees overrides: %s", text)
	}
	tab := browser.Open(t)
	tab.Screen(360, 740, "light")
	tab.Visit(a.url)
	tab.Until("document.activeElement.id === 'login-user'")
	if tab.Sees("#dashboard") || tab.Sees("#who") {
		t.Error("a client without login sees figures")
	}
	tab.Forgive("401", "403")
	tab.Type("guest" + kb.Tab + "root's secret" + kb.Enter)
	tab.UntilText("#login-error", "nvalid username-password pair")
	tab.Type("guest's secret" + kb.Enter)
	tab.UntilText("#user", "guest")
	if cookies := browser.Value[string](tab, "document.cookie"); cookies != "" {
		t.Errorf("scripts can read the cookie %q", cookies)
	}
	tab.Fill("#lookup-key", "precious"+kb.Enter)
	tab.UntilText("#found-use", "0 of 5 remaining")
	if n := browser.Value[int](tab, "[...document.querySelectorAll('[data-action]')].filter((b) => "+
		"b.checkVisibility()).length"); n > 0 {
		t.Errorf("a user of the group peek sees %d buttons that change keys", n)
	}
	for path, body := range map[string]string{"reset": `{"raw":"cHJlY2lvdXM"}`,
		"block": `{"raw":"cHJlY2lvdXM","duration":"1h"}`, "rules/reset": `{"domain":"YXBp","attributes":["aXA.MQ"]}`} {
		change := fmt.Sprintf(`fetch("api/%s", { method: "POST", headers: { "Content-Type": "application/json" }, body: %q })
			.then((answer) => answer.status)`, path, body)
		if status := browser.Value[int](tab, change); status != http.StatusForbidden {
			t.Errorf("%s by a user of the group peek: %d", path, status)
		}
	}
	if got := w.do(t, "EXISTS precious"); got != int64(1) {
		t.Errorf("EXISTS after rejected resets: %v", got)
	}
	if over := browser.Value[int](tab, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
		t.Errorf("the page is %d wider than a phone", over)
	}
	tab.Click("#logout")
	tab.UntilText("#login", "You are logged out.")
	if status := browser.Value[int](tab,
		`fetch("api/now").then((answer) => answer.status)`); status != http.StatusUnauthorized {
		t.Errorf("after a logout: %d", status)
	}
	if text := tab.Text("main"); strings.Contains(text, "precious") || tab.Sees("#dashboard") {
		t.Errorf("after a logout the page shows\n%s", text)
	}
	tab.Until("document.activeElement.id === 'login-user'")
	tab.Fill("#login-user", "root"+kb.Tab+"root's secret"+kb.Enter)
	tab.UntilText("#user", "root")
	tab.Click("#hot tbody button")
	tab.UntilText("#found-use", "0 of 5 remaining")
	tab.Click(resetButton)
	tab.Click("#reset button[value=reset]")
	tab.UntilText("#said", "Reset: precious")
	if got := w.do(t, "EXISTS precious"); got != int64(0) {
		t.Errorf("EXISTS after a reset: %v", got)
	}
	tab.StaysAt(a.url)
}

// TestPageActs blocks and unblocks a key, asks if a request passes, and resets its limits.
func TestPageActs(t *testing.T) {
	a := startAdminServer(t, nil)
	w := wired(t, a.address)
	w.do(t, `RL.RULES LOAD "domain: api\nrules:\n  - {name: one, per: [ip], limits: 2/day}\n"`)
	w.do(t, "RL.TOKEN user:7 5 0.001")
	tab := browser.Open(t)
	tab.Screen(1280, 900, "light")
	tab.Visit(a.url)
	tab.UntilText("#hot", "user:7")
	tab.Click("#hot [data-action=block]")
	tab.Click("#block .danger")
	tab.UntilText("#said", "Blocked: user:7")
	if got := fmt.Sprint(w.do(t, "RL.TOKEN user:7 5 0.001")); !strings.HasPrefix(got, "[0 5 0 ") {
		t.Errorf("a blocked key answers %s", got)
	}
	tab.UntilText("#boxes", "user:7")
	tab.Click("#boxes button.key")
	tab.UntilText("#found-use", "blocked until ")
	tab.Click("#boxes [data-action=unblock]")
	tab.Click("#reset .danger")
	tab.UntilText("#said", "Unblocked: user:7")
	tab.UntilText("#boxes", "No key is blocked.")
	if got := fmt.Sprint(w.do(t, "RL.TOKEN user:7 5 0.001")); !strings.HasPrefix(got, "[1 5 4 ") {
		t.Errorf("an unblocked key answers %s", got)
	}

	tab.Fill("#match-domain", "api"+kb.Tab)
	tab.Type("ip=203.0.113.7" + kb.Tab + kb.Enter)
	tab.UntilText("#match-said", "✓ Passes now: one/fixed-day has 2 remaining.")
	for range 3 {
		w.do(t, "RL.CHECK api ip 203.0.113.7")
	}
	tab.Click("#match-submit")
	tab.UntilText("#match-said", "✕ Denied now: the limit one/fixed-day denies it until ")
	tab.Click("#match-result [data-action=rules]")
	tab.Click("#reset .danger")
	tab.UntilText("#said", "Reset: 1 of api: ip=203.0.113.7")
	tab.UntilText("#match-said", "✓ Passes now: one/fixed-day has 2 remaining.")
	if got := fmt.Sprint(w.do(t, "RL.CHECK api ip 203.0.113.7")); !strings.HasPrefix(got, "[1 2 1 ") {
		t.Errorf("after the reset a request is answered by %s", got)
	}
	tab.Click("#match-result [data-action=block]")
	tab.Click("#block .danger")
	tab.UntilText("#said", "Blocked: rule:api|one|203.0.113.7#FIXED:fixed-day")
	tab.UntilText("#match-said", "✕ Denied now: one/fixed-day is blocked until ")
	if got := fmt.Sprint(w.do(t, "RL.CHECK api ip 203.0.113.7")); !strings.HasSuffix(got, " one/fixed-day blocked]") {
		t.Errorf("a request that counts at a blocked key is answered by %s", got)
	}
	tab.Click("#match-result [data-action=unblock]")
	tab.Click("#reset .danger")
	tab.UntilText("#match-said", "✓ Passes now: one/fixed-day has 2 remaining.")
	tab.StaysAt(a.url)
}

// TestPageSurvivesARestart checks that an open page continues with a restarted server.
func TestPageSurvivesARestart(t *testing.T) {
	a := startAdminServer(t, nil)
	tab := browser.Open(t)
	tab.Forgive("ERR_", "Failed to load resource")
	tab.Screen(1280, 900, "light")
	tab.Visit(a.url)
	tab.UntilText("#ready", "✓ Ready")
	a.Process.Kill()
	<-a.ended
	tab.UntilText("#lost", "The server does not answer.")
	serve(t, "--admin", strings.TrimPrefix(a.url, "http://"))
	tab.UntilText("#ready", "✓ Ready")
	if tab.Sees("#lost") {
		t.Error("the page still shows the lost connection")
	}
}
