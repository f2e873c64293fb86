package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"limitsrv/internal/testing/browser"
)

// TestPageShowsProblems checks the color, title and text of each problem.
func TestPageShowsProblems(t *testing.T) {
	lonely := func(online ...bool) object {
		cluster := threeMembers()
		cluster["has_quorum"], cluster["role"] = false, "candidate"
		for i, member := range cluster["members"].([]object) {
			member["online"] = online[i]
		}
		return cluster
	}
	full := object{"memory_bytes": 256 << 20}
	five := threeMembers()
	more := threeMembers()["members"].([]object)[:2]
	five["members"] = append(five["members"].([]object), more...)
	off := threeMembers()
	off["members"].([]object)[2]["online"] = true
	off["members"].([]object)[2]["clock_error_ms"] = 3_725_000
	f := newFake(t)
	tab := f.openPage(t)
	tab.UntilText("#ready", "✓ Ready")
	for _, tt := range []struct {
		name         string
		now, samples object
		cluster      any
		kind, title  string
		where, words string
		section      string // of the document about symptoms
	}{
		{"no majority", object{"ready": false, "not_ready": "x"}, nil, lonely(true, false, false), "bad", "✕ No majority",
			"#trouble",
			"No majority: This member reaches 1 of 3 voters, itself included, and 2 are needed.", "a-member-is-dead"},
		{"an election", object{"ready": false, "not_ready": "x"}, nil, lonely(true, true, false), "bad", "✕ No leader",
			"#trouble",
			"No leader: 2 of 3 voters are online, enough to elect one.", "a-member-is-dead"},
		{"a disk failure", object{"ready": false, "not_ready": "x",
			"storage": storageWith(object{"failed": "no space left on device"}, nil)}, nil, nil, "bad",
			"✕ Disk full", "#storage", "failing", "disk-full"},
		{"a start", object{"ready": false, "not_ready": "the state is being loaded"}, nil, nil, "warn", "! Not ready",
			"#trouble", "Not ready: the state is being loaded", ""},
		{"a failed snapshot", object{"storage": storageWith(nil, object{"failed": "no space left on device"})}, nil, nil,
			"warn", "! Snapshot failed", "#trouble",
			"the log grows until one succeeds: no space left on device", "disk-full"},
		{"rejections", object{"on_full": "refuse"}, object{"refused_for_memory": 2}, nil, "warn", "! Memory full", "#trouble",
			"decisions in the last minute got OOM instead of an answer", "memory-grows"},
		{"rejections at the chart", nil, object{"refused_for_memory": 2}, nil, "warn", "! Memory full",
			"#charts .note.warn:not(:empty)", "2 rejected for memory per second", "memory-grows"},
		{"evictions", nil, object{"evicted": 3}, nil, "warn", "! Memory full", "#trouble",
			"keys with used tokens evicted in the last minute", "memory-grows"},
		{"evictions beside the disk", nil, object{"evicted": 3}, nil, "warn", "! Memory full", "#storage",
			"evicted in the last minute", "memory-grows"},
		{"memory at its bound", full, nil, nil, "warn", "! Memory full", "#trouble",
			"Memory is full (256 MB): the next new key evicts others.", "memory-grows"},
		{"memory near its bound", object{"memory_bytes": 240 << 20}, nil, nil, "good", "✓ Ready",
			"#charts .note.warn:not(:empty)", "of 256 MB (94 %)", ""},
		{"a full disk while decisions go on", object{"degraded": "x",
			"storage": storageWith(object{"failed": "write log: no space left on device"}, nil)}, nil, nil, "bad",
			"✕ Disk full", "#trouble", "The disk is full, and the log can't be written: write log: no space left on device. " +
				"Decisions go on in memory: do not restart the server", "disk-full"},
		{"a broken disk", object{"ready": false, "not_ready": "x",
			"storage": storageWith(object{"failed": "input/output error"}, nil)}, nil, nil, "bad",
			"✕ Disk failure", "#trouble", "The log can't be written: input/output error. Until then requests get errors.",
			"disk-full"},
		{"another degraded state", object{"degraded": "half of it"}, nil, nil, "warn", "! Degraded", "#trouble",
			"Degraded, decisions go on: half of it", ""},
		{"a dead member of three", nil, nil, threeMembers(), "bad", "✕ Member offline", "#trouble",
			"Member offline: 10.0.3.3:6379. 2 of 3 voters make decisions, and one more failure would stop all decisions. " +
				"Start it again.", "a-member-is-dead"},
		{"a dead member of five", nil, nil, five, "warn", "! Member offline", "#trouble",
			"4 of 5 voters make decisions, and 1 further failure would be survived.", "a-member-is-dead"},
		{"a clock ahead", object{"clock_error_ms": 7_200_500}, nil, nil, "warn", "! Clock wrong", "#trouble",
			"This machine's clock is 2 h ahead of the time of decisions", "a-clock-is-wrong"},
		{"a clock behind", object{"clock_error_ms": -1001}, nil, nil, "warn", "! Clock wrong", "#trouble",
			"This machine's clock is 1 s behind the time of decisions", "a-clock-is-wrong"},
		{"a clock that is slewed", object{"clock_error_ms": -1000}, nil, nil, "good", "✓ Ready", "#storage", "synced", ""},
		{"the clock of a member", nil, nil, off, "warn", "! Clock wrong", "#trouble",
			"The clock of member 10.0.3.3:6379 is 1 h 2 min ahead of the median", "a-clock-is-wrong"},
	} {
		f.set(func() { f.now, f.samples, f.cluster = tt.now, tt.samples, tt.cluster })
		tab.Visit(f.URL)
		tab.UntilText(tt.where, tt.words)
		tab.UntilText("#ready", tt.title)
		tab.Until(fmt.Sprintf("document.getElementById('ready').classList.contains(%q)", tt.kind))
		if shown := tab.Sees("#trouble"); shown != (tt.kind != "good") {
			t.Errorf("%s: a banner: %v", tt.name, shown)
		} else if shown {
			tab.Until(fmt.Sprintf("document.getElementById('trouble').classList.contains(%q)", tt.kind))
			at := browser.Value[string](tab, "document.querySelector('#trouble a')?.hash ?? ''")
			if strings.TrimPrefix(at, "#") != tt.section {
				t.Errorf("%s: the next step is at %q, want %q", tt.name, at, tt.section)
			}
		}
		if *shots != "" && tt.name == "no majority" {
			tab.Shot(*shots + "/majority.png")
		}
		if *shots != "" && tt.name == "rejections" {
			tab.Shot(*shots + "/memory.png")
		}
	}
}

// The next step of a problem is a section of the document, which the server has.
func TestPageLeadsToTheNextStep(t *testing.T) {
	f := newFake(t)
	f.cluster = threeMembers()
	tab := f.openPage(t)
	tab.UntilText("#trouble", "What to do")
	tab.Click("#trouble a")
	tab.Until("location.pathname === '/troubleshooting.html' && document.querySelector(':target')?.textContent === " +
		"'A member is dead'")
	tab.StaysAt(f.URL)
}

// All problems are listed, the worst first, and only changes are announced.
func TestPageListsProblems(t *testing.T) {
	f := inTrouble(t)
	tab := f.openPage(t)
	tab.UntilText("#trouble", "Memory is full")
	tab.UntilText("#trouble", "The files of --rules have another text")
	tab.Until("[...document.querySelectorAll('#trouble li')].map((li) => li.classList[1]).join() === " +
		"'bad,bad,warn,warn,warn'")
	tab.Until("(globalThis.announced = 0, new MutationObserver(() => globalThis.announced++)" +
		".observe(document.getElementById('trouble'), { childList: true, subtree: true, characterData: true }), true)")
	f.awaitPolls(t, 3)
	if n := browser.Value[int](tab, "globalThis.announced"); n > 0 {
		t.Errorf("problems that stay were announced %d times", n)
	}
}

// TestPageSeparatesTotalsFromRates checks that totals since the start are shown as totals
// only.
func TestPageSeparatesTotalsFromRates(t *testing.T) {
	f := newFake(t)
	f.now = object{"evicted": 77_701, "refused_for_memory": 77_702, "shadow_denied": 77_703}
	tab := f.openPage(t)
	tab.UntilText("#storage", "Since start: 77,701 keys evicted, 77,702 decisions rejected for memory.")
	tab.UntilText("#algorithms", "77,703 of those denied")
	if charts := tab.Text("#charts"); strings.Contains(charts, "77,7") || strings.Contains(charts, "77.7K") {
		t.Errorf("the charts show totals: %s", charts)
	}
	f.set(func() { f.samples = object{"shadow_denied": 5} })
	tab.UntilText("#charts", "5 denied in shadow")
}

func TestPageShowsStorage(t *testing.T) {
	f := newFake(t)
	tab := f.openPage(t)
	for _, want := range []string{"214 decisions not synced", "Log: 12 MB in 3 files, --fsync everysec.", "3 min",
		"81 MB, written in 1.2 s.", "When memory is full: evict."} {
		tab.UntilText("#storage", want)
	}
	f.set(func() {
		f.now = object{"storage": storageWith(object{"unsynced": nil}, object{"writing": true}), "max_memory_bytes": 0}
	})
	for _, want := range []string{"kept, and replicated", "being written", "Newest: 81 MB, 3 min",
		"Memory has no bound."} {
		tab.UntilText("#storage", want)
	}
	f.set(func() { f.now = object{"storage": nil} })
	tab.UntilText("#storage", "A restart forgets all keys. --data DIR keeps them.")
	if text := tab.Text("#storage"); strings.Contains(text, "Snapshot\n") {
		t.Errorf("a server in memory has a snapshot: %s", text)
	}
}

func TestPageOfEmptyServer(t *testing.T) {
	f := newFake(t)
	f.now = object{"keys": 0, "decisions": object{"TOKEN": object{"allowed": 0, "denied": 0}}, "port": "6380"}
	f.top = []object{}
	tab := f.openPage(t)
	tab.UntilText("#empty", "redis-cli -p 6380 RL.TOKEN user:42 10 5")
	if *shots != "" {
		tab.Shot(*shots + "/empty.png")
	}
	f.set(func() { f.now = nil })
	tab.Until("document.getElementById('empty').hidden")
}

// TestPageIsConsistent checks at each change of a key's panel that a token is shown as
// available exactly if tokens remain.
func TestPageIsConsistent(t *testing.T) {
	f := newFake(t)
	key := f.keys[encodeKey("user:42")]
	// the same in each reply, so that the times run out repeatedly
	key["remaining"], key["wait_ms"], key["reset_ms"] = 0, 700, 1500
	tab := f.openPage(t)
	tab.Until(`(globalThis.contradictions = [], globalThis.moments = 0, new MutationObserver(() => {
		const [use, wait] = ["found-use", "found-wait"].map((id) => document.getElementById(id)?.textContent ?? "");
		if (use.startsWith("0 of") === wait.startsWith("now")) globalThis.contradictions.push(use + " but " + wait);
		if (wait === "in a moment") globalThis.moments++;
	}).observe(document.getElementById("lookup-result"), { childList: true, subtree: true, characterData: true }), true)`)
	tab.Fill("#lookup-key", "user:42"+kb.Enter)
	tab.UntilText("#found-use", "0 of 10 remaining")
	f.set(func() { f.keyBarrier = make(chan struct{}) }) // the reply that is due when the time is over
	tab.Until("globalThis.moments > 0")
	f.set(func() {
		key["remaining"], key["wait_ms"] = 1, 0
		close(f.keyBarrier)
		f.keyBarrier = nil
	})
	tab.UntilText("#found-use", "1 of 10 remaining")
	tab.UntilText("#found-wait", "now")
	f.set(func() { delete(f.keys, encodeKey("user:42")) })
	tab.UntilText("#found-limit", "fully reset, or never used")
	if all := browser.Value[[]string](tab, "globalThis.contradictions"); len(all) > 0 {
		t.Errorf("the page showed %q", all)
	}
}

// TestPageSearches finds keys by prefix, over several replies, and continues.
func TestPageSearches(t *testing.T) {
	f := newFake(t)
	for i := range 45 {
		f.allKeys = append(f.allKeys, fmt.Sprintf("user:%d", i), fmt.Sprintf("other:%d", i))
	}
	f.allKeys = append(f.allKeys, `odd\key`)
	tab := f.openPage(t)
	tab.Fill("#lookup-key", "nobody"+kb.Enter)
	tab.UntilText("#lookup-said", "No record of this key: it was never used, or it is fully reset")
	tab.Fill("#lookup-key", "user:")
	tab.Click("#search-submit")
	tab.UntilText("#search-said", "10 keys start with “user:” so far, 20 keys searched.")
	if tab.Text("#lookup-said") != "" {
		t.Error("the page still shows the previous key")
	}
	if *shots != "" {
		tab.Shot(*shots + "/search.png")
		tab.Screen(360, 740, "dark")
		tab.Shot(*shots + "/search-phone.png")
		tab.Screen(1280, 900, "light")
	}
	for _, found := range []string{"20", "30", "40"} {
		tab.Click("#search-more")
		tab.UntilText("#search-said", found+" keys start with")
	}
	tab.Click("#search-more")
	tab.UntilText("#search-said", "45 keys start with “user:”.")
	tab.Until("document.getElementById('search-more').hidden")
	f.set(func() { f.keys[encodeKey("user:3")] = f.keys[encodeKey("user:42")] })
	tab.Click("#search-list li:nth-child(4) button")
	tab.UntilText("#found-key", "user:3")
	tab.UntilText("#found-use", "3 of 10 remaining")
	tab.Fill("#lookup-key", `odd\\`)
	tab.Click("#search-submit")
	tab.UntilText("#search-said", `1 key starts with “odd\\”.`)
	tab.UntilText("#search-list", `odd\\key`)
	tab.Fill("#lookup-key", "none")
	tab.Click("#search-submit")
	tab.UntilText("#search-said", "No key starts with “none”.")
}
