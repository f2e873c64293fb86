package admin

import (
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/internal/testing/testwait"
)

func TestDifference(t *testing.T) {
	f := serve(t, "", nil)
	read := newSampler(f.cfg)
	begin := time.UnixMilli(1_000_000)
	old := read()
	old.at = begin
	f.execute("RL.TOKEN a 1 1", "RL.TOKEN a 1 1", "RL.TOKEN a 1 1", "RL.FIXED b 1 day")
	new := read()
	new.at = begin.Add(500 * time.Millisecond)
	s := difference(old, new)
	if s.allowed != 4 || s.denied != 4 || s.keys != 2 || s.memory <= 0 || s.connections != 3 || !s.at.Equal(new.at) {
		t.Errorf("the sample is %+v", s)
	}
	if s.p50 <= 0 || s.p99 < s.p50 {
		t.Errorf("p50 %d us, p99 %d us", s.p50, s.p99)
	}
	old = new
	new.at = new.at.Add(time.Second)
	if s = difference(old, new); s.allowed != 0 || s.p50 != -1 || s.p99 != -1 {
		t.Errorf("a second without decisions: %+v", s)
	}
	old.allowed, new.allowed, new.at = 100, 0, new.at.Add(time.Second)
	if s = difference(old, new); s.allowed != 0 {
		t.Errorf("after a restart of the counters %d are allowed", s.allowed)
	}
}

func TestHistoryKeepsLastSamples(t *testing.T) {
	h := newHistory(nil)
	for i := range maxSamples + 10 {
		h.add(sample{at: time.UnixMilli(int64(i)), allowed: int64(i)})
		if i == 4 && len(h.since(1)) != 3 {
			t.Errorf("%d samples after the second of five, want 3", len(h.since(1)))
		}
	}
	all := h.since(-1)
	if len(all) != maxSamples {
		t.Fatalf("%d samples, want %d", len(all), maxSamples)
	}
	for i, s := range all {
		if s.allowed != int64(10+i) {
			t.Fatalf("sample %d is %d, want %d", i, s.allowed, 10+i)
		}
	}
	if late := h.since(maxSamples + 8); len(late) != 1 || late[0].allowed != maxSamples+9 {
		t.Errorf("the last is %v", late)
	}
}

// TestSamplesAtWholeSeconds starts within a second: samples are at whole seconds.
func TestSamplesAtWholeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond)
		h := newHistory(func() reading { return reading{sample: sample{at: time.Now()}} })
		stop := h.start()
		time.Sleep(10 * time.Second)
		stop()
		all := h.since(-1)
		if len(all) != 10 {
			t.Errorf("%d samples in 10 seconds, want 10", len(all))
		}
		for _, s := range all {
			if s.at.Nanosecond() != 0 {
				t.Errorf("a sample at %v, want a whole second", s.at)
			}
		}
	})
}

func TestGetHistory(t *testing.T) {
	f := serve(t, "", nil)
	f.expect("/api/history?since=9999999999999", "", 200,
		`{"time_ms":[],"allowed":[],"denied":[],"shadow_denied":[],"evicted":[],"refused_for_memory":[],"p50_us":[],"p99_us":[],"keys":[],"memory_bytes":[],"connections":[]}`)
	f.expect("/api/history?since=x", "", 400, `{"error":"since must be milliseconds since 1970, got \"x\""}`)
	f.history.mu.Lock() // no other sample is added in between
	f.history.ring = []sample{
		{at: time.UnixMilli(5), allowed: 1, denied: 2, shadow: 1, evicted: 8, rejected: 9, p50: 3, p99: 4, keys: 5, memory: 6,
			connections: 7},
		{at: time.UnixMilli(6), p50: -1, p99: -1},
	}
	f.history.mu.Unlock()
	_, text := f.request("/api/history", "")
	want := `{"time_ms":[5,6`
	if len(text) < len(want) || text[:len(want)] != want {
		t.Errorf("the history is %s", text)
	}
	is := getJSON[struct {
		P99 []*int64 `json:"p99_us"`
	}](f, "/api/history")
	if *is.P99[0] != 4 || is.P99[1] != nil {
		t.Errorf("p99 is %v", is.P99)
	}
	until(t, "a new sample is added", func() bool { return len(f.history.since(1000)) > 0 })
}

// until waits for an event.
func until(t *testing.T, event string, happens func() bool) {
	t.Helper()
	testwait.Until(t, 20*time.Second, event, happens)
}
