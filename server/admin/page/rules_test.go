package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"limitsrv/internal/testing/browser"
	"limitsrv/internal/testing/testwait"
)

func TestPageShowsRules(t *testing.T) {
	f := newFake(t)
	tab := f.openPage(t)
	for _, tt := range []struct{ where, want string }{
		{"#rules-state", "Version 12, loaded "}, {"#rules-state",
			"by alice, note: ticket 7. 2 domains, 40 rules, 63 limits. 1,204 requests since start that no rule matched."},
		{"#rules-limits", "login/slide-1m"}, {"#rules-limits", "48,211"}, {"#rules-limits", "3,120"},
		{"#rules-limits", "pro"}, {"#rules-limits", "shadow"}, {"#rules-limits", "512"},
		{"#rules-limits", "59 limits with fewer requests not shown."},
		{"#overrides", "api ip=203.0.113.7"}, {"#overrides", "DENY"}, {"#overrides", "58 min left"},
		{"#overrides", "alice: abuse, ticket 9"}, {"#overrides", "for ever"},
		{"#boxes", "rule:api|login|203.0.113.7#penalty"}, {"#boxes", "1 min 58 s"}, {"#boxes", "since start: 31."},
	} {
		tab.UntilText(tt.where, tt.want)
	}
	if *shots != "" {
		tab.Until("(document.getElementById('rules-title').scrollIntoView(), true)")
		tab.Shot(*shots + "/rules.png")
	}
	f.set(func() {
		f.rules = object{"version": 0, "rows": []object{}, "limits": 0, "overrides": nil, "override_count": 3,
			"boxes": []object{}, "box_count": 0}
	})
	tab.UntilText("#rules-state", "No rules were loaded.")
	tab.UntilText("#rules-limits", "No limits.")
	tab.UntilText("#overrides", "3 overrides. The group rules may see them.")
	tab.UntilText("#boxes", "No key is blocked.")
	tab.StaysAt(f.URL)
}

// TestPageShowsRuleProblems checks the problems of rules: a file with a mistake, rules of a
// newer version, and --rules-shadow.
func TestPageShowsRuleProblems(t *testing.T) {
	f := newFake(t)
	tab := f.openPage(t)
	tab.UntilText("#ready", "✓ Ready")
	for _, tt := range []struct {
		rules       object
		kind, title string
		text        string
	}{
		{object{"file_error": "rules: /etc/api.yaml:3: limits must have 1 to 16 entries, got 17"}, "warn",
			"! Rules not loaded",
			"The files of --rules have a mistake. Version 12 of the rules stays in use: rules: /etc/api.yaml:3: limits must " +
				"have 1 to 16 entries, got 17"},
		{object{"file_differs": true}, "warn", "! Rules differ",
			"The files of --rules have another text than version 12 of the rules, which is in use."},
		{object{"shadow": true}, "warn", "! Rules in shadow", "Rules deny nothing, because of --rules-shadow."},
		{object{"events_error": "dial tcp: refused", "events_waiting": 1}, "warn", "! Events fail",
			"Events at thresholds can't be delivered to --events-url. Waiting: 1 event. The error: dial tcp: refused"},
		{object{"unusable": true}, "bad", "✕ Rules unusable", "The rules need a newer version of limitsrv"},
	} {
		f.set(func() { f.rules = tt.rules })
		tab.UntilText("#ready", tt.title)
		tab.UntilText("#trouble", tt.text)
		tab.Until(fmt.Sprintf("document.getElementById('trouble').classList.contains(%q)", tt.kind))
	}
	f.set(func() { f.rules = nil })
	tab.UntilText("#ready", "✓ Ready")
}

// TestPageMatches fills in the form by keyboard, and looks at a counter that it finds.
func TestPageMatches(t *testing.T) {
	f := newFake(t)
	tab := f.openPage(t)
	tab.Forgive("400")
	tab.UntilText("#rules-limits", "login")
	tab.Fill("#match-domain", "api"+kb.Tab)
	tab.Type(`ip=203.0.113.7` + kb.Enter + ` path = /a=b\x00 ` + kb.Enter + "flag" + kb.Tab + kb.Enter)
	tab.UntilText("#match-said", "✓ Passes now: login/slide-1m has 3 remaining.")
	tab.UntilText("#match-result", "5/1m slide")
	tab.UntilText("#match-result", "Penalty box: rule:api|login|203.0.113.7#penalty")
	tab.UntilText("#match-result", "✕ tenant: per: the request has no tenant")
	want := fmt.Sprintf("domain=%s&a=%s.%s&a=%s.%s&a=%s.", encodeKey("api"), encodeKey("ip"), encodeKey("203.0.113.7"),
		encodeKey("path"), encodeKey("/a=b\x00"), encodeKey("flag"))
	f.set(func() {
		if len(f.matches) != 1 || f.matches[0] != want {
			t.Errorf("asked for %q, want %q", f.matches, want)
		}
	})
	if *shots != "" {
		tab.Until("(document.getElementById('rules-title').scrollIntoView(), true)")
		tab.Shot(*shots + "/match.png")
	}
	tab.Click("#match-result button")
	tab.UntilText("#found-key", "user:42")
	tab.UntilText("#found-use", "3 of 10 remaining")
	tab.Fill("#match-domain", "other")
	tab.Click("#match-submit")
	tab.UntilText("#match-said", "Domain must be 1 to 256 bytes long")
	tab.Until("document.getElementById('match-result').children.length === 0")
}

// TestPageHoldsBoxes looks at a closed box from the list, which stays while it has the focus.
func TestPageHoldsBoxes(t *testing.T) {
	const box = "rule:api|login|203.0.113.7#penalty"
	f := newFake(t)
	f.keys[encodeKey(box)] = object{"key": box, "raw": encodeKey(box), "algorithm": "PENALTY", "limit": 3, "rate": nil,
		"window_ns": nil, "calendar": nil,
		"remaining": 0, "wait_ms": 60_000, "reset_ms": 86_460_000, "level": 2}
	tab := f.openPage(t)
	tab.UntilText("#boxes", box)
	tab.Until("(document.querySelector('#boxes button').focus(), true)")
	f.set(func() { f.rules = object{"boxes": []object{}, "box_count": 0, "override_count": 9} })
	tab.UntilText("#overrides", "7 more not shown.")
	if !strings.Contains(tab.Text("#boxes"), box) {
		t.Error("the list changed while it had the focus")
	}
	tab.Click("#boxes button")
	tab.UntilText("#found-limit", "Penalty box: blocks after 3 denials")
	tab.UntilText("#found-use", "blocked until ")
	tab.UntilText("#found-wait", "in ")
	tab.UntilText("#found-use", "level 2")
	tab.Click("#lookup-result [data-action=unblock]")
	tab.Click("#reset .danger")
	testwait.Until(t, 30*time.Second, "the box is reset", func() (done bool) {
		f.set(func() { done = len(f.resets) == 1 && f.resets[0] == encodeKey(box) })
		return done
	})
	tab.UntilText("#boxes", "No key is blocked.")
}

// TestPageHostileRules: names, values and notes become text with escapes, and nothing is wider
// than a phone.
func TestPageHostileRules(t *testing.T) {
	f := newFake(t)
	var rows, overrides, boxes []object
	for _, text := range hostile {
		key := override(text, -1, text)
		key["rule"], key["user"], key["domain"] = text, text, text
		row := limit(text, text, "shadow", 1, 2, 3)
		row["domain"], row["tier"] = text, text
		rows, overrides, boxes = append(rows, row), append(overrides, key),
			append(boxes, object{"raw": encodeKey(text), "db": 0, "level": 1, "left_ms": 5000})
	}
	f.rules = object{"rows": rows, "overrides": overrides, "boxes": boxes, "user": hostile[0], "note": hostile[2],
		"file_error": hostile[1]}
	tab := f.openPage(t)
	tab.UntilText("#rules-limits", hostile[0])
	tab.UntilText("#overrides", `ip=admin\u{202e}gnp.exe`)
	tab.UntilText("#boxes", `a\u{0}b\u{a}c\u{1b}[31m`)
	tab.UntilText("#rules-state", `note: admin\u{202e}gnp.exe`)
	tab.UntilText("#trouble", "<script>document.title")
	if n := browser.Value[int](tab,
		"document.querySelectorAll('main img, main script, main b, #trouble script').length"); n != 0 {
		t.Errorf("%d elements were created from names", n)
	}
	if title := browser.Value[string](tab, "document.title"); strings.Contains(title, "owned") {
		t.Error("a name has run a script")
	}
	for _, width := range []int64{320, 660, 1100, 1920} {
		tab.Screen(width, 700, "dark")
		if over := browser.Value[int](tab, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("at a width of %d the page overflows by %d", width, over)
		}
	}
	tab.StaysAt(f.URL)
}
