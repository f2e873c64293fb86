package page

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"limitsrv/internal/testing/testwait"
)

// awaitChange blocks until a change was requested, with its path and body.
func (f *fake) awaitChange(t *testing.T, want string) {
	t.Helper()
	testwait.Until(t, 30*time.Second, want, func() (done bool) {
		f.set(func() { done = slices.Contains(f.changes, want) })
		return done
	})
}

// TestPageBlocks blocks a key beside its name, by keyboard, after a question.
func TestPageBlocks(t *testing.T) {
	f := newFake(t)
	tab := f.openPage(t)
	tab.UntilText("#denied", "ip:203.0.113.7")
	tab.Until("(document.querySelector('#denied [data-action=block]').focus(), true)")
	tab.Type(kb.Enter)
	tab.UntilText("#block", "ip:203.0.113.7")
	tab.Until("document.activeElement.value === 'cancel'")
	tab.Type(kb.Enter)
	tab.Until("!document.getElementById('block').open && document.activeElement.dataset.action === 'block'")
	tab.Type(kb.Enter)
	tab.Until("(document.getElementById('block-duration').value = '1h', true)")
	tab.Click("#block .danger")
	tab.UntilText("#said", "Blocked: ip:203.0.113.7")
	f.awaitChange(t, fmt.Sprintf(`/api/block {"raw":"%s","db":0,"duration":"1h"}`, encodeKey("ip:203.0.113.7")))
	tab.Until("document.activeElement.innerText.startsWith('Denied most')")
	f.set(func() {
		if len(f.changes) != 1 {
			t.Errorf("the changes are %q, want one", f.changes)
		}
		f.top = []object{row("another", 9, 0)}
	})
	tab.UntilText("#denied", "another") // the focus left the rows
}

// TestPageResetsBesideKeys resets a key of a list, and unblocks a blocked key. Penalty boxes have no
// button to block them, and other keys of rules have it.
func TestPageResetsBesideKeys(t *testing.T) {
	f := newFake(t)
	ruled := "rule:api|login|203.0.113.7#SLIDE:slide-1m"
	f.top = []object{row("user:42", 9, 0), row(ruled, 7, 0), row("rule:api|login|203.0.113.7#penalty", 6, 0)}
	f.keys[encodeKey("rule:api|login|203.0.113.7#penalty")] = f.keys[encodeKey("user:42")]
	tab := f.openPage(t)
	tab.UntilText("#denied", "user:42")
	tab.Until("document.querySelectorAll('#denied [data-action=block]').length === 2")
	tab.Until("document.querySelectorAll('#denied [data-action=reset]').length === 3")
	tab.Click("#denied [data-action=reset]")
	tab.UntilText("#reset", "Reset this key?")
	tab.Click("#reset .danger")
	tab.UntilText("#said", "Reset: user:42")
	tab.Click("#boxes [data-action=unblock]")
	tab.UntilText("#reset", "End this block?")
	tab.UntilText("#reset", "rule:api|login|203.0.113.7#penalty")
	tab.Click("#reset button[value=cancel]")
	tab.Until("!document.getElementById('reset').open")
	tab.Click("#boxes [data-action=unblock]")
	tab.Click("#reset .danger")
	tab.UntilText("#said", "Unblocked: rule:api|login|203.0.113.7#penalty")
	f.set(func() {
		want := []string{encodeKey("user:42"), encodeKey("rule:api|login|203.0.113.7#penalty")}
		if !slices.Equal(f.resets, want) {
			t.Errorf("resets of %q, want %q", f.resets, want)
		}
	})
}

// TestPageTellsAnswers: the form tells if the request passes now, which limit denies it and until
// when; and resets all limits of its attributes.
func TestPageTellsAnswers(t *testing.T) {
	f := newFake(t)
	tab := f.openPage(t)
	tab.UntilText("#rules-limits", "login")
	tab.Fill("#match-domain", "api"+kb.Tab)
	tab.Type("ip=203.0.113.7" + kb.Tab + kb.Enter)
	tab.UntilText("#match-said", "✓ Passes now: login/slide-1m has 3 remaining.")
	tab.UntilText("#match-result", "✓ passes, 3 remaining")
	answer := func(allowed bool, reason, name string, wait int) object {
		return object{"allowed": allowed, "reason": reason, "name": name, "remaining": 0, "wait_ms": wait, "error": ""}
	}
	for _, tt := range []struct {
		now        object
		class      string
		said, then string
	}{
		{answer(false, "limited", "login/slide-1m", 24_000), "error",
			"✕ Denied now: the limit login/slide-1m denies it until ", "(24.0 s)."},
		{answer(false, "limited", "never/none", -1), "error", "✕ Denied now: the limit never/none denies it for ever.", ""},
		{answer(false, "quota", "a/b", 60_000), "error", "✕ Denied now: all quotas are used, a/b until ", "(1 min)."},
		{answer(false, "blocked", "login", 3_600_000), "error", "✕ Denied now: login is blocked until ",
			"(1 h)."},
		{answer(false, "denied", "", -1), "error", "✕ Denied now: a list or an override denies it.", ""},
		{answer(false, "unmatched", "", -1), "error", "✕ Denied now: no rule matches", ""},
		{answer(true, "near", "a/b", 0), "good", "✓ Passes now: a/b has 0 remaining.", ""},
		{answer(true, "allowed", "", 0), "good", "✓ Passes now: a list or an override allows it.", ""},
		{answer(true, "unlimited", "", 0), "good", "✓ Passes now: the rule has no limit.", ""},
		{answer(true, "none", "", 0), "good", "✓ Passes now: no limit denies it.", ""},
		{object{"allowed": false, "error": "no majority"}, "warn", "Can't be decided now: no majority", ""},
	} {
		f.set(func() { f.matchNow = tt.now })
		tab.Click("#match-submit")
		tab.UntilText("#match-said", tt.said)
		tab.UntilText("#match-said", tt.then)
		tab.Until(fmt.Sprintf("document.getElementById('match-said').classList.contains(%q)", tt.class))
	}
	tab.Click("[data-action=rules]")
	tab.UntilText("#reset", "Reset these limits?")
	tab.UntilText("#reset", "api: ip=203.0.113.7")
	f.set(func() { f.matchNow = answer(true, "ok", "login/slide-1m", 0) })
	tab.Click("#reset .danger")
	tab.UntilText("#said", "Reset: 4 of api: ip=203.0.113.7")
	f.awaitChange(t, fmt.Sprintf(`/api/rules/reset {"domain":"%s","attributes":["%s.%s"]}`, encodeKey("api"), encodeKey("ip"),
		encodeKey("203.0.113.7")))
	tab.UntilText("#match-said", "✓ Passes now: login/slide-1m") // it has asked again
}
