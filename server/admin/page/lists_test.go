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

// TestPageShowsTenRows: lists have ten rows until the user asks for more, and keep their length when
// they are updated.
func TestPageShowsTenRows(t *testing.T) {
	f := inTrouble(t)
	requests, limits, overrides := []object{}, []object{}, []object{}
	for i := range 23 {
		requests = append(requests, object{"via": fmt.Sprint("rl.", i), "allowed": 100 - i, "denied": 0, "shadow_denied": 0,
			"error": 0})
		limits = append(limits, limit(fmt.Sprint("rule", i), "5/1m slide", "enforced", 23-i, 0, 0))
		overrides = append(overrides, override(fmt.Sprint("203.0.113.", i), -1, ""))
	}
	f.now["requests"], f.rules["rows"], f.rules["limits"], f.rules["overrides"] = requests, limits, 23, overrides
	tab := f.openPage(t)
	lists := []struct {
		list, more string
		all        int
	}{
		{"#denied", "Show more", 20}, {"#hot", "Show more", 20}, {"#rules-list", "Show 13 more", 23},
		{"#overrides", "Show 13 more", 23}, {"#boxes", "Show 4 more", 14},
		{"section:has(> #requests)", "Show 13 more", 23},
	}
	count := func(list string, n int) {
		t.Helper()
		tab.Until(fmt.Sprintf(`[...document.querySelectorAll(%q)].filter((row) => row.checkVisibility()).length === %d`,
			list+" tbody tr", n))
	}
	press := func(list string) {
		t.Helper()
		tab.Until(fmt.Sprintf("(document.querySelector(%q).focus(), true)", list+" .more"))
		tab.Type(kb.Enter)
	}
	for _, l := range lists {
		count(l.list, 10)
		tab.UntilText(l.list+" .more", l.more)
		press(l.list)
		count(l.list, l.all)
		tab.UntilText(l.list+" .more", "Show 10 only")
	}
	f.awaitPolls(t, 3)
	for _, l := range lists {
		count(l.list, l.all)
		press(l.list)
		count(l.list, 10)
	}
	f.set(func() { f.rules["boxes"] = []object{} })
	tab.UntilText("#boxes", "No key is blocked.")
	if tab.Sees("#boxes .more") {
		t.Error("an empty list can be extended")
	}
}

// awaitPolls blocks until the page has asked some times more.
func (f *fake) awaitPolls(t *testing.T, n int) {
	t.Helper()
	before := 0
	f.set(func() { before = len(f.historyRequests) })
	testwait.Until(t, 30*time.Second, "the page asks again", func() (done bool) {
		f.set(func() { done = len(f.historyRequests) > before+n })
		return done
	})
}

// TestPageCutsKeys: a long key is cut in the middle, its end is visible, and the whole key is its
// title, and is copied.
func TestPageCutsKeys(t *testing.T) {
	long := "tenant:" + strings.Repeat("very-long-", 40) + ":the-end"
	f := newFake(t)
	f.top = []object{row(long, 9, 0), row("short", 3, 0)}
	f.keys[encodeKey(long)] = f.keys[encodeKey("user:42")]
	tab := f.openPage(t)
	for _, width := range []int64{1280, 334} {
		tab.Screen(width, 900, "light")
		tab.Until("document.querySelector('#denied .tail')?.textContent === ':the-end'.padStart(9, '-')")
		got := browser.Value[[]bool](tab, `(() => {
			const cut = document.querySelector("#denied .cut");
			const [head, tail, row] = [...cut.children, cut.closest("th")].map((e) => e.getBoundingClientRect());
			const one = document.querySelectorAll("#denied .cut")[1];
			return [cut.title === cut.textContent, head.width > 30, tail.width > 50, tail.right <= row.right + 1,
				Math.abs(head.top - tail.top) < 3, one.scrollWidth <= one.clientWidth];
		})()`)
		for i, ok := range got {
			if !ok {
				t.Errorf("at a width of %d, check %d of the cut key fails", width, i)
			}
		}
	}
	tab.Click("#denied button.key")
	tab.UntilText("#found-use", "3 of 10 remaining")
	tab.Until(fmt.Sprintf(`(globalThis.copied = "", document.addEventListener("copy", () => {
		globalThis.copied = String(getSelection()); }), Object.defineProperty(navigator, "clipboard", { value: undefined }), %q)`,
		"true"))
	tab.Click("#found-copy")
	tab.Until(fmt.Sprintf("globalThis.copied === %q", long))
	tab.UntilText("#found-copy", "Copied")
}

// TestPageFitsOnPhones: on a phone nothing is wider than the screen or its panel, and rows of tables
// are cards.
func TestPageFitsOnPhones(t *testing.T) {
	f := inTrouble(t)
	f.rules["rows"] = []object{limit(strings.Repeat("rule", 30), "100/1s token burst 200", "shadow", 1e9, 1e9, 1e9)}
	f.rules["overrides"] = []object{override("2001:db8::8a2e:370:7334", 1e12, strings.Repeat("note", 40))}
	tab := f.openPage(t)
	fillAll(tab)
	for _, width := range []int64{377, 334, 320} {
		tab.Screen(width, 740, "light")
		wide := browser.Value[[]string](tab, `[...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() &&
			!e.closest("canvas, .uplot, .head, .away, thead, legend") &&
			(e.getBoundingClientRect().right > innerWidth - 8 && !e.matches("header, main, footer, div, section, .banner, ul, form, .top") ||
			["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth))
			.map((e) => e.outerHTML.slice(0, 150))`)
		if over := browser.Value[int](tab, "document.documentElement.scrollWidth - innerWidth"); over > 0 || len(wide) > 0 {
			t.Errorf("at a width of %d the page overflows by %d, because of %q", width, over, wide)
		}
		tables := browser.Value[int](tab, "document.querySelectorAll('#dashboard table').length")
		cards := browser.Value[int](tab, `[...document.querySelectorAll("#dashboard table")].filter((table) =>
			[...table.querySelectorAll("tbody tr:not([hidden])")].every((row) => getComputedStyle(row).display === "grid" &&
			[...row.querySelectorAll("td:not(.acts)")].every((cell) => getComputedStyle(cell, "::before").content === '"' + cell.dataset.head + '"'))).length`)
		if cards != tables || tables < 7 {
			t.Errorf("at a width of %d, %d of %d tables have cards, want all", width, cards, tables)
		}
		if size := browser.Value[int](tab, `Math.min(...[...document.querySelectorAll("main button, main a")]
			.filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect().height))`); size < 30 {
			t.Errorf("at a width of %d a button is %d pixels high, want 30", width, size)
		}
	}
}

// TestPageStacks: the denied requests are drawn on top of the allowed requests.
func TestPageStacks(t *testing.T) {
	f := newFake(t)
	f.samples = object{"allowed": 300, "denied": 100}
	tab := f.openPage(t)
	got := browser.Value[string](tab, `import("/charts.js").then(({ sums }) =>
		JSON.stringify(sums([[1, null, 3], [10, 20, null], [100, 200, 300]])))`)
	if want := "[[1,null,3],[11,null,null],[111,null,null]]"; got != want {
		t.Errorf("the sums are %s, want %s", got, want)
	}
	tab.UntilText("[data-column=allowed]", "300")
	tab.UntilText("[data-column=denied]", "100 · 25 %")
}
