package front

import (
	"testing"
	"time"

	"limitsrv/engine"
)

// TestClockOfLateAnswers: the clock follows the leader's time, which a front hears of late.
func TestClockOfLateAnswers(t *testing.T) {
	const start = engine.Instant(1e18)
	for _, c := range []struct {
		name             string
		ahead            time.Duration // of the leader's clock, once the front knows its time
		out, waited, way time.Duration // the times of the question, of the leader, and of the answer
		want             time.Duration // the error of the front's clock
	}{
		{name: "a slow question", out: time.Second},
		{name: "a long wait", waited: time.Second},
		{name: "a late answer", way: time.Second},
		{name: "all of them", out: time.Second, waited: time.Minute, way: time.Hour},
		{name: "the leader goes ahead", ahead: time.Second, way: time.Millisecond, want: -time.Millisecond},
		{name: "the leader falls behind", ahead: -time.Second, out: time.Millisecond, want: time.Millisecond},
		{name: "and waits", ahead: time.Second, waited: time.Minute, way: time.Millisecond, want: -time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mono time.Duration
			k := clock{mono: func() time.Duration { return mono }, wall: func() engine.Instant { return 0 }}
			k.heard(start, 0)
			asked := mono
			mono += c.out + c.waited
			told := start + engine.Instant(mono+c.ahead)
			mono += c.way
			k.heard(told, asked+c.waited)
			k.last = 0 // tells errors that it would hide
			if got := time.Duration(k.now() - start - engine.Instant(mono+c.ahead)); got != c.want {
				t.Errorf("the clock is wrong by %v, want %v", got, c.want)
			}
		})
	}
}
