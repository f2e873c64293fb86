package engine_test

import (
	"testing"

	"limitsrv/engine"
)

// grantTimes requests one permit every step ns over some time, and returns the times of
// the grants.
func grantTimes(e *engine.Engine, p engine.Params, from, to engine.Instant, step int64) []engine.Instant {
	var granted []engine.Instant
	for at := from; at < to; at += engine.Instant(step) {
		if apply(e, at, engine.Op{Kind: engine.Take, Key: []byte(p.Alg.String()), Params: p, N: 1})[0].Allowed == 1 {
			granted = append(granted, at)
		}
	}
	return granted
}

// mostInWindow returns the most grants in any window [at, at + length).
func mostInWindow(granted []engine.Instant, length int64) int {
	most, first := 0, 0
	for i, at := range granted {
		for at-granted[first] >= engine.Instant(length) {
			first++
		}
		most = max(most, i+1-first)
	}
	return most
}

// TestBoundary requests without pause from just before the end of a window that was idle
// before: the fixed counter admits twice the limit within one window, the log never more
// than the limit, the sliding counter a number in between.
func TestBoundary(t *testing.T) {
	const limit, window = 100, 60 * second
	boundary := instant("2025-06-15T12:01:00Z")
	most := map[engine.Alg]int{}
	for _, a := range []engine.Alg{engine.Fixed, engine.Slide, engine.Log} {
		e := engine.New(engine.Options{})
		p := engine.Params{Alg: a, Limit: limit, Period: window}
		granted := grantTimes(e, p, boundary-engine.Instant(second), boundary+engine.Instant(3*window), second/500)
		most[a] = mostInWindow(granted, window)
		if len(granted) < 3*limit {
			t.Errorf("%v granted %d in three windows, which is fewer than the limit in each", a, len(granted))
		}
	}
	t.Logf("most permits within a window, limit %d: %v", limit, most)
	if most[engine.Fixed] != 2*limit {
		t.Errorf("FIXED admitted %d within a window, want twice the limit of %d", most[engine.Fixed], limit)
	}
	if most[engine.Log] != limit {
		t.Errorf("LOG admitted %d within a window, want the limit of %d", most[engine.Log], limit)
	}
	if most[engine.Slide] <= limit || most[engine.Slide] >= 2*limit {
		t.Errorf("SLIDE admitted %d within a window, want between %d and %d", most[engine.Slide], limit, 2*limit)
	}
}

// TestCalendar checks the ends of days, weeks, months and years: permits count until the
// end and no longer.
func TestCalendar(t *testing.T) {
	for _, tt := range []struct {
		name     string
		calendar engine.Calendar
		at, end  string
	}{
		{"a day ends at midnight", engine.Day, "2025-06-15T23:59:59.999999999Z", "2025-06-16T00:00:00Z"},
		{"a day begins at midnight", engine.Day, "2025-06-15T00:00:00Z", "2025-06-16T00:00:00Z"},
		{"a week ends on Sunday", engine.Week, "2025-06-15T23:59:59Z", "2025-06-16T00:00:00Z"},
		{"a week begins on Monday", engine.Week, "2025-06-16T00:00:00Z", "2025-06-23T00:00:00Z"},
		{"a week spans the year's end", engine.Week, "2024-12-31T12:00:00Z", "2025-01-06T00:00:00Z"},
		{"the first week began before the epoch", engine.Week, "1970-01-01T00:00:00Z", "1970-01-05T00:00:00Z"},
		{"February has 29 days in a leap year", engine.Month, "2024-02-29T23:59:59.999999999Z", "2024-03-01T00:00:00Z"},
		{"February has 28 days otherwise", engine.Month, "2025-02-10T00:00:00Z", "2025-03-01T00:00:00Z"},
		{"2100 is not a leap year", engine.Month, "2100-02-28T12:00:00Z", "2100-03-01T00:00:00Z"},
		{"2000 was a leap year", engine.Month, "2000-02-28T12:00:00Z", "2000-03-01T00:00:00Z"},
		{"December ends with the year", engine.Month, "2025-12-31T12:00:00Z", "2026-01-01T00:00:00Z"},
		{"a year begins in January", engine.Year, "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
		{"a year ends in December", engine.Year, "2025-12-31T23:59:59.999999999Z", "2026-01-01T00:00:00Z"},
	} {
		e := engine.New(engine.Options{})
		ask := engine.Op{Kind: engine.Take, Key: []byte("key"), N: 1,
			Params: engine.Params{Alg: engine.Fixed, Limit: 1, Calendar: tt.calendar}}
		at, end := instant(tt.at), instant(tt.end)
		first := apply(e, at, ask)[0]
		if first.Allowed != 1 || nanos(first.Reset) != int64(end-at) {
			t.Errorf("%s: Take at %s\n got %+v\nwant reset in %d ns", tt.name, tt.at, first, end-at)
		}
		if d := apply(e, end-1, ask)[0]; d.Allowed != 0 || nanos(d.Wait) != 1 {
			t.Errorf("%s: Take a nanosecond before %s\n got %+v\nwant wait of 1 ns", tt.name, tt.end, d)
		}
		if d := apply(e, end, ask)[0]; d.Allowed != 1 {
			t.Errorf("%s: Take at %s\n got %+v\nwant it allowed", tt.name, tt.end, d)
		}
	}
}
