package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"limitsrv/internal/testing/browser"
)

// inTrouble makes a fake show all kinds of panels: problems, a cluster, long names and lists.
func inTrouble(t *testing.T) *fake {
	f := newFake(t)
	f.cluster = threeMembers()
	f.now = object{"ready": true, "degraded": "decisions can't be written to disk: no space left on device",
		"storage":        storageWith(object{"failed": "write log: no space left on device"}, nil),
		"clock_error_ms": -7_200_000}
	f.samples = object{"refused_for_memory": 2}
	boxes := []object{}
	for i := range 14 {
		key := fmt.Sprintf("tenant:%d:%s:export", i, strings.Repeat("very-long-", 9))
		f.top = append(f.top, row(key, 60-i, i%2))
		boxes = append(boxes, object{"raw": encodeKey(key), "db": i % 2, "level": 1 + i%3, "left_ms": 118_000 + i})
		f.allKeys = append(f.allKeys, key)
	}
	f.rules = object{"file_differs": true, "boxes": boxes, "box_count": 20}
	f.matchNow = object{"allowed": false, "reason": "limited", "name": "login/slide-1m", "remaining": 0,
		"wait_ms": 24_000, "error": ""}
	return f
}

// fillAll shows a key, the results of a search, and an answer of rules.
func fillAll(tab *browser.Tab) {
	tab.UntilText("#denied", "ip:203.0.113.7")
	tab.Fill("#match-domain", "api"+kb.Tab)
	tab.Type("ip=203.0.113.7" + kb.Tab + kb.Enter)
	tab.UntilText("#match-said", "Denied now")
	tab.Fill("#lookup-key", "tenant")
	tab.Click("#search-submit")
	tab.UntilText("#search-said", "start with")
	tab.Fill("#lookup-key", "user:42"+kb.Enter)
	tab.UntilText("#found-use", "3 of 10 remaining")
}

// A screen has a width and a height in pixels, and a color scheme.
type screen struct {
	width, height int64
	scheme        string
}

// TestPageAccessible looks for barriers with axe-core in each state of the page.
func TestPageAccessible(t *testing.T) {
	f := inTrouble(t)
	tab := f.openPage(t)
	tab.Forgive("401", "ERR_")
	check := func(state string, screens ...screen) {
		t.Helper()
		for _, s := range screens {
			tab.Screen(s.width, s.height, s.scheme)
			for _, barrier := range tab.BarredBy() {
				t.Errorf("%s, %d pixels wide, %s: %s", state, s.width, s.scheme, barrier)
			}
		}
	}
	desktop, night := screen{1280, 900, "light"}, screen{1280, 900, "dark"}
	phone, phoneAtNight := screen{360, 740, "light"}, screen{360, 740, "dark"}
	fillAll(tab)
	check("with problems and data", desktop, night, phone, phoneAtNight)
	tab.Until("(document.querySelector('#lookup-result [data-action=block]').click(), true)")
	check("while asking for a block", phone, night)
	tab.Until("(document.querySelector('#block button').click(), !document.getElementById('block').open)")
	f.set(func() { f.offline = true })
	tab.UntilText("#lost", "does not answer")
	check("without a connection", desktop, phoneAtNight)
	f.set(func() { f.offline, f.login = false, "secret" })
	tab.UntilText("#login", "Your login has ended.")
	check("at the login", phone, night)
	tab.Visit(f.URL + "/troubleshooting.html")
	check("the document about symptoms", desktop, phoneAtNight)
}
