package main

import (
	"testing"
	"time"
)

func TestWatcherCountsOverlappingRequests(t *testing.T) {
	var w watcher
	w.record(time.Now().Add(-time.Second), time.Now(), 1, 0)
	if w.seen.total != 0 {
		t.Fatal("a watcher that is not open records requests")
	}
	w.open()
	w.close()
	from, to := w.from, w.to
	for _, tt := range []struct {
		name       string
		begin, end time.Time
		counts     bool
	}{
		{"over before", from.Add(-2), from.Add(-1), false},
		{"begun before", from.Add(-time.Second), from, true},
		{"within", from, to, true},
		{"ended after", to, to.Add(time.Second), true},
		{"around it", from.Add(-1), to.Add(1), true},
		{"begun after", to.Add(1), to.Add(2), false},
	} {
		before := w.seen.total
		w.record(tt.begin, tt.end, 3, 0)
		if got := w.seen.total-before == 3; got != tt.counts {
			t.Errorf("%s: counted %v, want %v", tt.name, got, tt.counts)
		}
	}
}
