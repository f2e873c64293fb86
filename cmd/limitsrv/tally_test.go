package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A tally is all that was answered to takes of one permit each of a key that earns
// nothing back. Its times are those of a clock that only counts.
type tally struct {
	key   string
	take  string // the command; %d is for a number that was never used, if it is there
	limit int64

	mu      sync.Mutex
	grants  []grant
	doubts  []int64 // when takes were sent of which nobody knows whether they count
	denials int
	denied  int64 // when the first denial was known; never: math.MaxInt64
}

// A grant is a permit that was given.
type grant struct {
	remaining   int64 // in the reply
	sent, known int64
}

func newTally(key, take string, limit int64) *tally {
	return &tally{key: key, take: take, limit: limit, denied: math.MaxInt64}
}

// refusals are the errors that say that nothing was taken.
var refusals = []string{"LOADING", "MISCONF", "CLUSTERDOWN"}

// note takes note of the reply to a take, which is nil if none came.
func (c *tally) note(reply any, sent, known int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, ok := reply.([]any)
	switch {
	case reply == nil, isError(reply, "UNCERTAIN"):
		c.doubts = append(c.doubts, sent)
		return nil
	case slices.ContainsFunc(refusals, func(code string) bool { return isError(reply, code) }):
		return nil
	case !ok || len(list) != 5 || list[1] != c.limit:
		return fmt.Errorf("a take of %s is answered %v", c.key, reply)
	}
	remaining, ok := list[2].(int64)
	switch {
	case ok && list[0] == int64(1):
		c.grants = append(c.grants, grant{remaining, sent, known})
		return nil
	case ok && list[0] == int64(0) && remaining == 0:
		c.denials++
		c.denied = min(c.denied, known)
		return nil
	}
	return fmt.Errorf("a take of %s is answered %v", c.key, reply)
}

// isSpent says whether the key has been denied a few times.
func (c *tally) isSpent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.denials >= 20
}

// check finds out whether one server that never fails could have given all these
// replies, of which used permits are gone in the end: whether the history is
// linearizable. The replies say in which order permits were given, so that takes
// no search.
func (c *tally) check(used int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var failures []error
	fail := func(format string, args ...any) {
		failures = append(failures, fmt.Errorf(c.key+": "+format, args...))
	}
	given, doubted := int64(len(c.grants)), int64(len(c.doubts))
	if given > c.limit {
		fail("%d permits of %d were given", given, c.limit)
	}
	if used < given || used > given+doubted {
		fail("%d permits are gone, where %d were given and %d are in doubt", used, given, doubted)
	}
	slices.SortFunc(c.grants, func(a, b grant) int { return int(b.remaining - a.remaining) })
	latest := int64(0) // when the latest of the grants so far was sent
	for i, g := range c.grants {
		switch {
		case g.remaining < c.limit-used || g.remaining >= c.limit:
			fail("a permit was given with %d remaining, of %d of which %d are gone", g.remaining, c.limit, used)
		case i > 0 && g.remaining == c.grants[i-1].remaining:
			fail("two permits were given with %d remaining", g.remaining)
		case g.known < latest:
			fail("a permit was given with %d remaining, before one with more was asked for", g.remaining)
		case g.sent > c.denied:
			fail("a permit was given with %d remaining, asked for when there was known to be none", g.remaining)
		}
		latest = max(latest, g.sent)
	}
	if before := c.takenBefore(c.denied); c.denials > 0 && before < c.limit {
		fail("it was denied when at most %d permits of %d were gone", before, c.limit)
	}
	return errors.Join(failures...)
}

// takenBefore is how many permits may have been gone at a time.
func (c *tally) takenBefore(time int64) (n int64) {
	for _, g := range c.grants {
		if g.sent < time {
			n++
		}
	}
	for _, sent := range c.doubts {
		if sent < time {
			n++
		}
	}
	return n
}

func TestTally(t *testing.T) {
	type take struct {
		sent, known int64
		reply       any
	}
	ok := func(remaining int64) any { return []any{int64(1), int64(3), remaining, int64(-1), int64(0)} }
	no := []any{int64(0), int64(3), int64(0), int64(9), int64(9)}
	for _, tt := range []struct {
		name  string
		takes []take
		used  int64
		want  string // in the error; "": none
	}{
		{"one after the other", []take{{1, 2, ok(2)}, {3, 4, ok(1)}, {5, 6, ok(0)}, {7, 8, no}}, 3, ""},
		{"at once, in either order", []take{{1, 6, ok(0)}, {2, 5, ok(2)}, {3, 4, ok(1)}}, 3, ""},
		{"in an order that time forbids", []take{{1, 2, ok(1)}, {3, 4, ok(2)}}, 2, "before one with more was asked for"},
		{"one too many", []take{{1, 2, ok(2)}, {3, 4, ok(1)}, {5, 6, ok(0)}, {7, 8, ok(0)}}, 3, "4 permits of 3 were given"},
		{"the same twice", []take{{1, 2, ok(2)}, {3, 4, ok(2)}}, 2, "two permits were given with 2 remaining"},
		{"one forgotten", []take{{1, 2, ok(2)}, {3, 4, ok(1)}}, 1, "1 permits are gone, where 2 were given"},
		{"one that nobody took", []take{{1, 2, ok(2)}}, 2, "2 permits are gone, where 1 were given"},
		{"one in doubt that counts", []take{{1, 2, ok(2)}, {3, 4, nil}, {5, 6, ok(0)}}, 3, ""},
		{"one in doubt that does not", []take{{1, 2, ok(2)}, {3, 4, replyError("UNCERTAIN so")}, {5, 6, ok(1)}}, 2, ""},
		{"one refused that counts", []take{{1, 2, ok(2)}, {3, 4, replyError("CLUSTERDOWN so")}}, 2, "2 permits are gone"},
		{"more left than ever", []take{{1, 2, ok(3)}}, 1, "3 remaining"},
		{"fewer left than in the end", []take{{1, 2, ok(0)}}, 1, "0 remaining"},
		{"denied with some left", []take{{1, 2, ok(2)}, {3, 4, ok(1)}, {5, 6, no}}, 2, "denied when at most 2"},
		{"denied for what comes later", []take{{1, 2, ok(2)}, {3, 4, ok(1)}, {5, 6, no}, {7, 8, ok(0)}}, 3, "known to be none"},
		{"denied with as many as are in doubt", []take{{1, 2, ok(2)}, {3, 9, nil}, {4, 9, nil}, {5, 6, no}}, 3, ""},
		{"denied for what is in doubt later", []take{{1, 2, ok(2)}, {3, 4, ok(1)}, {5, 6, no}, {7, 8, nil}}, 3, "denied when at most 2"},
		{"denied while the last is given", []take{{1, 2, ok(2)}, {3, 4, ok(1)}, {5, 8, ok(0)}, {6, 7, no}}, 3, ""},
	} {
		c := newTally("k", "", 3)
		for _, take := range tt.takes {
			if err := c.note(take.reply, take.sent, take.known); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		err := c.check(tt.used)
		if got := fmt.Sprint(err); (err == nil) != (tt.want == "") || !strings.Contains(got, tt.want) && err != nil {
			t.Errorf("%s: check = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestTallyKnowsItsReplies(t *testing.T) {
	for _, reply := range []any{
		replyError("ERR so"), "OK", []any{int64(1), int64(3)}, []any{int64(1), int64(4), int64(1), int64(0), int64(0)},
		[]any{int64(0), int64(3), int64(1), int64(0), int64(0)}, []any{int64(2), int64(3), int64(1), int64(0), int64(0)},
	} {
		if err := newTally("k", "", 3).note(reply, 1, 2); err == nil {
			t.Errorf("%v is taken for a reply", reply)
		}
	}
}
