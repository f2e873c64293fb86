package server

import (
	"testing"
	"time"
)

// A sweep wakes up only a loop on which a connection may be overdue.
func TestSweepWakes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		conns   int64
		idle    time.Duration // timeout
		waiting int64         // bytes of output
		want    int           // tasks of the loop
	}{
		{"no client", 0, 0, 0, 0},
		{"no client, which might be silent", 0, time.Minute, 0, 0},
		{"a client that may be silent", 1, 0, 0, 0},
		{"a client that may not", 1, time.Minute, 0, 1},
		{"a client that does not read", 1, 0, 100, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := new(Server)
			s.SetIdleTimeout(tt.idle)
			s.unsent.Store(tt.waiting)
			l, err := newLoop(s, new(traffic)) // it does not run, so its tasks stay
			if err != nil {
				t.Fatal(err)
			}
			defer l.poll.close()
			l.load.Store(tt.conns)
			(&loops{s: s, all: []*loop{l}}).sweep()
			if len(l.tasks) != tt.want {
				t.Errorf("%d tasks were submitted, want %d", len(l.tasks), tt.want)
			}
		})
	}
}
