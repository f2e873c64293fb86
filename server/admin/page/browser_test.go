package page

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"limitsrv/internal/testing/browser"
	"limitsrv/internal/testing/testwait"
)

// openPage opens the page of a fake at the size of a desktop screen.
func (f *fake) openPage(t *testing.T) *browser.Tab {
	t.Helper()
	tab := browser.Open(t)
	tab.Screen(1280, 900, "light")
	tab.Visit(f.URL)
	return tab
}

// resetButton is the button that resets the key that was looked up.
const resetButton = "#lookup-result [data-action=reset]"

func TestPageShowsAll(t *testing.T) {
	f := newFake(t)
	f.cluster = threeMembers()
	tab := f.openPage(t)
	for _, tt := range []struct{ where, want string }{
		{"#ready", "Member offline"}, {"#uptime", "up 1 h 2 min"}, {"#version", "1.0.0"},
		{"#denied", "ip:203.0.113.7"}, {"#denied", "48,211"}, {"#denied", "−12"}, {"#hot", "tenant:42"},
		{"#algorithms", "12 of those denied were answered as allowed"}, {"#charts", "of 256 MB (83 %), when full: evict"},
		{"#charts", "of 10,000"},
		{"#algorithms", "8,123,456"}, {"#algorithms", "1.5 %"}, {"#algorithms", "< 0.1 %"},
		{"#cluster-state", "2 of 3 members online, 10.0.3.1:6379 leads in term 7; this one is a follower"},
		{"#members", "at most 48,211 entries"}, {"#members", "b2b2b2b2"}, {"#members", "1 min 14 s ago"},
	} {
		tab.UntilText(tt.where, tt.want)
	}
	if strings.Contains(tab.Text("#algorithms"), "LEASE") {
		t.Error("an algorithm without decisions is shown")
	}
	for _, width := range []int64{1280, 1024} {
		tab.Screen(width, 900, "light")
		tab.Until("document.getElementById('members').scrollWidth <= document.getElementById('members').clientWidth")
		broken := browser.Value[[]string](tab,
			`[...document.querySelectorAll("#members td:is(:nth-child(2), :nth-child(3), :last-child)")]
			.filter((cell) => { const range = document.createRange(); range.selectNodeContents(cell); return range.getBoundingClientRect().height > 30; })
			.map((cell) => cell.textContent)`)
		if len(broken) > 0 {
			t.Errorf("at a width of %d texts of members are wrapped: %q", width, broken)
		}
	}
	if tab.Sees("#who") || tab.Sees("#login") {
		t.Error("login elements are shown although no login is required")
	}
	f.set(func() { f.cluster = nil })
	tab.Until("document.getElementById('cluster').hidden")
	tab.StaysAt(f.URL)
}

// TestPageReconnects stops the server, and hides the page.
func TestPageReconnects(t *testing.T) {
	f := newFake(t)
	tab := f.openPage(t)
	tab.Forgive("ERR_EMPTY_RESPONSE", "Failed to load resource")
	tab.UntilText("#denied", "203.0.113.7")
	f.set(func() { f.offline = true })
	tab.UntilText("#lost", "The server does not answer. Last update at ")
	tab.UntilText("#ready", "Connection lost")
	f.set(func() { f.offline, f.historyRequests = false, nil })
	tab.Until("document.getElementById('lost').hidden")
	tab.UntilText("#ready", "✓ Ready")

	tab.Until(`(Object.defineProperty(document, "hidden", { value: true, configurable: true }), true)`)
	asked := f.waitUntilIdle(t)
	tab.Until(`(delete document.hidden, document.dispatchEvent(new Event("visibilitychange")), true)`)
	testwait.Until(t, 20*time.Second, "a request after the page became visible again", func() (again bool) {
		f.set(func() { again = len(f.historyRequests) > asked })
		return again
	})
	f.set(func() {
		for _, since := range f.historyRequests {
			if since == "0" {
				t.Errorf("the whole history was requested again: %q", f.historyRequests)
			}
		}
	})
}

// waitUntilIdle blocks until the history has not been requested for the time of three
// polls, and returns the number of requests.
func (f *fake) waitUntilIdle(t *testing.T) (asked int) {
	t.Helper()
	last := time.Now()
	testwait.Until(t, 20*time.Second, "a hidden page does not poll", func() bool {
		f.set(func() {
			if len(f.historyRequests) != asked {
				asked, last = len(f.historyRequests), time.Now()
			}
		})
		return time.Since(last) >= 3*time.Second
	})
	return asked
}

func TestPageShowsErrors(t *testing.T) {
	f := newFake(t)
	f.notReady, f.topError = "the state is being loaded", "the state is being loaded, ask later"
	tab := f.openPage(t)
	tab.Forgive("503", "401")
	tab.UntilText("#trouble", "Not ready: the state is being loaded")
	tab.UntilText("#ready", "Not ready")
	tab.UntilText("#denied", "The state is being loaded, ask later")
	f.set(func() { f.notReady, f.topError = "", "" })
	tab.UntilText("#denied", "ip:203.0.113.7")
	tab.Until("document.getElementById('trouble').hidden")
	f.set(func() { f.top = []object{} })
	tab.UntilText("#denied", "No key was denied in this time.")
	f.set(func() { f.login = "secret" })
	tab.UntilText("#login", "Your login has ended.")
	if tab.Sees("#dashboard") {
		t.Error("the figures are still shown")
	}
	f.set(func() { f.may = object{"peek": false, "admin": false} })
	tab.Fill("#login-password", "secret"+kb.Enter)
	tab.UntilText("#trouble", "alice may not view this page")
}

// TestPageByKeyboard uses the page without a mouse.
func TestPageByKeyboard(t *testing.T) {
	f := newFake(t)
	f.login = "secret"
	tab := f.openPage(t)
	tab.Until("document.activeElement.id === 'login-user'")
	tab.Type("alice" + kb.Tab + "secret" + kb.Enter)
	tab.UntilText("#denied", "ip:203.0.113.7")
	tab.Until("document.activeElement === document.body")
	var order []string
	for at := ""; at != "search-submit" && len(order) < 60; {
		tab.Type(kb.Tab)
		at = tab.Focused()
		order = append(order, at)
		tab.Until("[document.activeElement, document.activeElement.nextElementSibling].some((e) => e && " +
			"getComputedStyle(e).outlineStyle === 'solid')")
		if at == "Latency, over time" {
			tab.Type(kb.ArrowLeft + kb.ArrowLeft)
			told := browser.Value[string](tab, "document.activeElement.getAttribute('aria-valuetext')")
			if !strings.Contains(told, ": p99 ") {
				t.Errorf("two seconds ago is announced as %q", told)
			}
			shown := browser.Value[[]string](tab, "[...document.querySelectorAll('.at')].map((e) => e.textContent)")
			for _, time := range shown {
				if time == "" || !strings.HasPrefix(told, time) {
					t.Errorf("the charts show %q while one announces %q", shown, told)
				}
			}
			tab.Type(kb.Escape)
			tab.Until("document.querySelector('.at').textContent === ''")
		}
	}
	got := strings.Join(order, "\n")
	want := regexpOf("span", "Requests per second, over time", "Latency, over time", "Keys, over time",
		"Memory, over time",
		"Connections, over time", "window", "ip:203.0.113.7", "user:8812:login", "lookup-key", "lookup-submit",
		"search-submit")
	if !want.MatchString(got) {
		t.Errorf("the tab order is\n%s", got)
	}

	tab.Until("(document.getElementById('lookup-key').focus(), true)")
	tab.Type("user:42" + kb.Enter)
	tab.Until("document.activeElement.id === 'found-key'")
	tab.Type(kb.Tab + kb.Tab + kb.Tab) // after the buttons to copy and to block
	tab.Type(kb.Enter)
	tab.Until("document.getElementById('reset').open")
	tab.Type(kb.Escape)
	tab.Until("!document.getElementById('reset').open && document.activeElement.dataset.action === 'reset'")
	tab.Type(kb.Enter)
	tab.Until("document.activeElement.value === 'cancel'")
	tab.Type(kb.Tab + kb.Enter)
	tab.UntilText("#said", "Reset: user:42")
	tab.Until("document.activeElement.innerText === 'One key'")
	f.set(func() {
		if len(f.resets) != 1 || f.resets[0] != encodeKey("user:42") {
			t.Errorf("resets of %q, want user:42 once", f.resets)
		}
	})
	tab.UntilText("#found-limit", "fully reset")
}

// TestPageFollowsRights revokes rights while the page is open, and restores them.
func TestPageFollowsRights(t *testing.T) {
	f := newFake(t)
	f.login, f.loggedIn = "secret", true
	tab := f.openPage(t)
	tab.Forgive("403")
	tab.UntilText("#denied", "203.0.113.7")
	tab.Fill("#lookup-key", "user:42"+kb.Enter)
	tab.UntilText("#found-limit", "10 tokens")
	const buttons = "[...document.querySelectorAll('[data-action]')].filter((b) => b.checkVisibility()).length"
	tab.Until(buttons + " > 10")
	f.set(func() { f.may = object{"peek": true, "admin": false} })
	tab.Until(buttons + " === 0")
	f.set(func() { f.may = object{"peek": true, "admin": true} })
	tab.Until(buttons + " > 10")

	// a rejected request updates the rights at once, also without polls.
	tab.Until(`(Object.defineProperty(document, "hidden", { value: true, configurable: true }), true)`)
	f.waitUntilIdle(t)
	f.set(func() { f.may = object{"peek": true, "admin": false} })
	tab.Click(resetButton)
	tab.Click("#reset .danger")
	tab.UntilText("#said", "Not reset: User \"alice\" is not in the group admin")
	tab.Until(buttons + " === 0")

	f.set(func() { f.may = object{"peek": false, "admin": false} })
	tab.Until(`(delete document.hidden, document.dispatchEvent(new Event("visibilitychange")), true)`)
	tab.UntilText("#trouble", "alice may not view this page")
	if tab.Sees("#dashboard") {
		t.Error("the figures are still shown")
	}
	tab.Until(`(document.dispatchEvent(new Event("visibilitychange")), true)`)
	f.set(func() { f.may = object{"peek": true, "admin": false} })
	tab.Until("!document.getElementById('dashboard').hidden && document.getElementById('trouble').hidden")
}

// TestPageKeepsRowsWhileFocused checks that rows stay while a row has the focus, also when the focus moves to
// another button of them.
func TestPageKeepsRowsWhileFocused(t *testing.T) {
	f := newFake(t)
	tab := f.openPage(t)
	tab.UntilText("#denied", "ip:203.0.113.7")
	tab.Until("(document.querySelector('#denied button').focus(), true)")
	f.set(func() { f.top = []object{row("another", 5, 0)} })
	tab.UntilText("#hot", "another")
	if text := tab.Text("#denied"); !strings.Contains(text, "ip:203.0.113.7") ||
		!strings.Contains(text, "paused while you choose") {
		t.Errorf("the rows changed while focused: %s", text)
	}
	tab.Type(kb.Tab)
	if at := tab.Focused(); at != "Block ip:203.0.113.7" {
		t.Errorf("the next button has not the focus, but %q", at)
	}
	tab.Until("(document.activeElement.blur(), true)")
	tab.UntilText("#denied", "another")
}

// A key of another database than 0 is shown with its number, and looked up and reset there.
func TestPageTellsDatabases(t *testing.T) {
	f := newFake(t)
	there := row("user:42", 7, 0)
	there["db"] = 3
	f.top = []object{row("user:42", 9, 0), there}
	f.keys[keyIn("3", encodeKey("user:42"))] = object{"key": "user:42", "raw": encodeKey("user:42"), "algorithm": "FIXED",
		"limit": 77, "rate": nil, "window_ns": 60_000_000_000, "calendar": nil, "remaining": 0, "wait_ms": 5000,
		"reset_ms": 60000}
	tab := f.openPage(t)
	tab.Until("document.querySelector('#denied tbody')?.textContent.includes('user:42db3')")
	tab.Until("(document.querySelector('#denied tbody tr:nth-child(2) button').click(), true)")
	tab.Until("document.querySelector('#found-key')?.textContent === 'user:42db3'")
	tab.UntilText("#found-use", "0 of 77 remaining")
	tab.Until("(document.querySelector('" + resetButton + "').click(), document.querySelector('dialog[open] " +
		"button.danger').click(), true)")
	testwait.Until(t, 30*time.Second, "the key is reset", func() (done bool) {
		f.set(func() { done = len(f.resets) == 1 && f.resets[0] == keyIn("3", encodeKey("user:42")) })
		return done
	})
	tab.Until("(document.querySelector('#denied tbody tr:nth-child(1) button').click(), true)")
	tab.Until("document.getElementById('found-key').textContent === 'user:42'")
}

// hostile are keys that would do harm if they were not treated as text.
var hostile = []string{
	`<img src=x onerror="document.title='owned'">`, "<script>document.title='owned'</script>", "admin\u202egnp.exe",
	"a\x00b\nc\x1b[31m",
	"\xff\xfe", "&lt;b&gt;", `back\slash \x41`, "  ends  ", "zero\u200bwidth", strings.Repeat("long", 250),
	"\u0645\u0631\u062d\u0628\u0627", "{{7*7}}${7*7}",
}

func TestPageHostileKeys(t *testing.T) {
	f := newFake(t)
	f.top = nil
	for i, key := range hostile {
		f.top = append(f.top, row(key, 1000-i, 0))
		f.keys[encodeKey(key)] = object{"key": key, "raw": encodeKey(key), "algorithm": "LOG", "limit": 5, "rate": nil,
			"window_ns": 60_000_000_000, "calendar": nil, "remaining": 0, "wait_ms": 5000, "reset_ms": 60000}
	}
	f.keys[encodeKey("weird")] = object{"key": "x", "raw": encodeKey("weird"), "algorithm": "<b>NEW</b>", "limit": 5,
		"remaining": 0, "wait_ms": -1, "reset_ms": 1}
	tab := f.openPage(t)
	tab.UntilText("#denied", "<img src=x")
	for i, want := range []string{
		hostile[0], hostile[1], `admin\u{202e}gnp.exe`, `a\u{0}b\u{a}c\u{1b}[31m`, `\xff\xfe`, "&lt;b&gt;",
		`back\\slash \\x41`, `\u{20}\u{20}ends\u{20}\u{20}`, `zero\u{200b}width`,
	} {
		button := fmt.Sprintf("document.querySelectorAll('#denied button.key')[%d]", i)
		if got := browser.Value[string](tab, button+".textContent"); got != want {
			t.Errorf("%q is shown as %s, want %s", hostile[i], got, want)
		}
		tab.Until("(" + button + ".click(), true)")
		tab.Until("document.getElementById('found-key')?.textContent === " + button + ".textContent")
		tab.UntilText("#found-limit", "Sliding log: never more than 5 tokens in any 1 minute")
		tab.UntilText("#found-wait", "in ")
		if typed := browser.Value[string](tab, "document.getElementById('lookup-key').value"); typed != want {
			t.Errorf("the input shows %q as %s", hostile[i], typed)
		}
		tab.Click("#lookup-submit") // the typed text has the same bytes
		tab.Until("document.activeElement.id === 'found-key'")
		tab.UntilText("#found-limit", "Sliding log")
	}
	tab.Fill("#lookup-key", "weird"+kb.Enter)
	tab.UntilText("#found-wait", "never")
	if n := browser.Value[int](tab, "document.querySelectorAll('main img, main script, main b').length"); n != 0 {
		t.Errorf("%d elements were created from keys", n)
	}
	if title := browser.Value[string](tab, "document.title"); strings.Contains(title, "owned") {
		t.Error("a key has run a script")
	}
	for _, width := range []int64{320, 360, 660, 661, 1100, 1101, 1920} {
		tab.Screen(width, 700, "dark")
		if over := browser.Value[int](tab, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("at a width of %d the page overflows by %d", width, over)
		}
	}
	tab.StaysAt(f.URL)
}

// TestKeysRoundTrip checks that the displayed text of any bytes parses to the same bytes.
func TestKeysRoundTrip(t *testing.T) {
	seed := testwait.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	pieces := append([]string{`\`, `\x`, `\x4`, `\u{`, `\u{41}`, `\u{ffffffff}`, "{", "}", " ", "é", "\U0001f600",
		"\ud7ff", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", "\xe2\x80", "\ufeff", "\u00a0", "\u2028"}, hostile...)
	keys := append([]string{""}, pieces...)
	for range 3000 {
		var key []byte
		for range random.IntN(6) {
			if random.IntN(2) == 0 {
				key = append(key, pieces[random.IntN(len(pieces))]...)
			} else {
				key = append(key, byte(random.Uint32()))
			}
		}
		keys = append(keys, string(key))
	}
	raws := make([]string, len(keys))
	for i, key := range keys {
		raws[i] = encodeKey(key)
	}
	given, err := json.Marshal(raws)
	if err != nil {
		t.Fatal(err)
	}
	wrong := browser.Value[[]string](newFake(t).openPage(t),
		fmt.Sprintf(`import("/keys.js").then(({ show, bytesOf, rawOf, parse }) =>
		%s.filter((raw) => {
			const text = show(bytesOf(raw));
			return rawOf(parse(text)) !== raw || /[\p{C}\p{Zl}\p{Zp}]/u.test(text) || text !== text.trim();
		}))`, given))
	if len(wrong) > 0 {
		t.Errorf("seed %d: %d of %d keys change in a round trip, the first is %q", seed, len(wrong), len(keys), wrong[0])
	}
}

func TestFormat(t *testing.T) {
	tab := newFake(t).openPage(t)
	for _, tt := range []struct{ call, want string }{
		{"rate({ count: 5, period_ns: 1e9 })", "5 per second"},
		{"rate({ count: 1, period_ns: 2e9 })", "30 per minute"},
		{"rate({ count: 5, period_ns: 3e9 })", "100 per minute"},
		{"rate({ count: 1, period_ns: 86400e9 })", "1 per day"},
		{"rate({ count: 3, period_ns: 7e9 })", "3 per 7 seconds"},
		{"rate({ count: 1000000, period_ns: 1 })", "1,000,000,000,000,000 per second"},
		{"length(60e9)", "1 minute"}, {"length(90e9)", "90 seconds"}, {"length(15e8)", "1.5 seconds"},
		{"length(5e6)", "5 ms"}, {"length(7 * 86400e9)", "7 days"},
		{"left(0)", "0.0 s"}, {"left(1)", "0.1 s"}, {"left(12340)", "12.4 s"}, {"left(200000)", "3 min 20 s"},
		{"left(86400000 * 2 + 1)", "2 d"},
		{"span(3725)", "1 h 2 min"}, {"span(0)", "0 s"}, {"span(86400)", "1 d"}, {"span(90061)", "1 d 1 h"},
		{"bytes(0)", "0 B"}, {"bytes(1536)", "1.5 KB"}, {"bytes(256 * 2 ** 20)", "256 MB"}, {"bytes(2 ** 30)", "1 GB"},
		{"bytes(3 * 2 ** 40)", "3 TB"},
		{"percent(0, 0)", "0 %"}, {"percent(1, 100000)", "< 0.1 %"}, {"percent(99999, 100000)", "> 99.9 %"},
		{"percent(1, 1)", "100 %"}, {"percent(15, 1000)", "1.5 %"},
		{"micros(85)", "85 µs"}, {"micros(1234)", "1.23 ms"}, {"micros(2e6)", "2 s"},
		{"limit({ algorithm: 'TOKEN', limit: 10, rate: { count: 5, period_ns: 1e9 } })",
			"10 tokens, refilled at 5 per second"},
		{"limit({ algorithm: 'LEAKY', limit: 10, rate: { count: 5, period_ns: 1e9 } })",
			"a queue of 10, drained at 5 per second"},
		{"limit({ algorithm: 'FIXED', limit: 1, window_ns: 60e9, calendar: null })", "1 token in each window of 1 minute"},
		{"limit({ algorithm: 'FIXED', limit: 1000, window_ns: null, calendar: 'day' })",
			"1,000 tokens in each calendar day (UTC)"},
		{"limit({ algorithm: 'SLIDE', limit: 100, window_ns: 60e9 })", "about 100 tokens in any 1 minute"},
		{"limit({ algorithm: 'LEASE', limit: 2, window_ns: 30e9 })", "2 at a time, each for at most 30 seconds"},
	} {
		if got := browser.Value[string](tab, `import("/format.js").then((format) => format.`+tt.call+")"); got != tt.want {
			t.Errorf("%s = %q, want %q", tt.call, got, tt.want)
		}
	}
}

// TestPageDrawsIsolatedPoints checks that points are drawn for values without neighbors
// only.
func TestPageDrawsIsolatedPoints(t *testing.T) {
	f := newFake(t)
	f.hasSample = func(ms int64) bool { // a gap, a sample, a gap; otherwise a sample each second
		ago := f.begin.Add(10*time.Minute).UnixMilli() - ms
		return ago < 60_000 || ago > 120_000 || ago/1000 == 90
	}
	tab := f.openPage(t)
	tab.UntilText("#denied", "203.0.113.7")
	if got := browser.Value[string](tab, `import("/charts.js").then(({ isolated }) =>
		String(isolated({ data: [[], [1, 2, null, 3, null, 4, 5, null, 6]] }, 1)))`); got != "3,8" {
		t.Errorf("the isolated points are %s, want 3,8", got)
	}
	tab.Until(`document.querySelectorAll("canvas").length > 0`)
	if *shots != "" {
		tab.Shot(filepath.Join(*shots, "alone.png"))
	}
}

// regexpOf matches text that contains these lines in this order.
func regexpOf(lines ...string) *regexp.Regexp {
	for i, line := range lines {
		lines[i] = regexp.QuoteMeta(line)
	}
	return regexp.MustCompile(`(?s)` + strings.Join(lines, `\n(?:.*\n)??`))
}

// TestPageFollowsScheme checks that the charts change with the color scheme, also without
// new data.
func TestPageFollowsScheme(t *testing.T) {
	f := newFake(t)
	tab := f.openPage(t)
	tab.Forgive("getImageData") // called by this test
	tab.UntilText("#denied", "203.0.113.7")
	tab.Until(`(Object.defineProperty(document, "hidden", { value: true }), true)`)
	for _, scheme := range []string{"light", "dark", "light"} {
		tab.Screen(1280, 900, scheme)
		tab.Until(`(() => {
			const want = getComputedStyle(document.documentElement).getPropertyValue("--allowed").trim();
			const near = (i, c) => Math.abs(c - parseInt(want.slice(1 + 2 * i, 3 + 2 * i), 16)) < 12;
			return [...document.querySelectorAll("canvas")].every((canvas) => {
				const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
				let found = 0;
				for (let at = 0; at < data.length; at += 4) {
					if (near(0, data[at]) && near(1, data[at + 1]) && near(2, data[at + 2]) && data[at + 3] > 200) found++;
				}
				return found > 50;
			});
		})()`)
	}
}
