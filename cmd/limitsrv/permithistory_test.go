package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"limitsrv/internal/respclient"
)

// A permitHistory is the replies to takes of a permit each of a key that is never refilled,
// or of two such keys together.
type permitHistory struct {
	key       string
	pairedKey string // the other key, or ""
	take      string // the command, with an optional %d for a unique number
	limit     int64

	mu      sync.Mutex
	grants  []grant
	doubts  []int64 // send times of takes with an unknown outcome
	denials int
	denied  int64 // receive time of the first denial; math.MaxInt64: no denial
}

// A grant is an allowed take.
type grant struct {
	remaining   int64 // in the reply
	sent, known int64
}

func newPermitHistory(key, take string, limit int64) *permitHistory {
	return &permitHistory{key: key, take: take, limit: limit, denied: math.MaxInt64}
}

func (c *permitHistory) next() (string, func(any, int64, int64) error) {
	if strings.Contains(c.take, "%d") {
		return fmt.Sprintf(c.take, holders.Add(1)), c.note
	}
	return c.take, c.note
}

func (c *permitHistory) peeks() ([]string, int64) {
	commands := []string{"RL.PEEK " + c.key}
	if c.pairedKey != "" {
		commands = append(commands, "RL.PEEK "+c.pairedKey)
	}
	return commands, c.limit
}

// mergeReplies returns the reply to a take of two keys as a take of the first key, if both
// have the same result.
func mergeReplies(reply any) any {
	list, _ := reply.([]any)
	if len(list) != 4 {
		return reply
	}
	first, _ := list[2].([]any)
	second, _ := list[3].([]any)
	if len(first) != 5 || len(second) != 5 || !slices.Equal(first[1:3], second[1:3]) {
		return reply
	}
	return append([]any{list[0]}, first[1:]...)
}

// note records the reply to a take; a reply of nil did not arrive.
func (c *permitHistory) note(reply any, sent, known int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch outcomeOf(reply) {
	case doubtful:
		c.doubts = append(c.doubts, sent)
		return nil
	case refused:
		return nil
	}
	if c.pairedKey != "" {
		reply = mergeReplies(reply)
	}
	list, ok := reply.([]any)
	switch {
	case !ok || len(list) != 5 || list[1] != c.limit:
		return fmt.Errorf("reply to a take of %s = %v", c.key, reply)
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
	return fmt.Errorf("reply to a take of %s = %v", c.key, reply)
}

// isExhausted reports whether the key was denied several times.
func (c *permitHistory) isExhausted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.denials >= 20
}

// check returns an error unless the history is linearizable: a single server without
// failures could have given all replies, with used permits at the end. The order of
// grants follows from the replies, so that no search is needed.
func (c *permitHistory) check(gone []int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var failures []error
	used := gone[0]
	fail := func(format string, args ...any) {
		failures = append(failures, fmt.Errorf(c.key+": "+format, args...))
	}
	if gone[len(gone)-1] != used {
		fail("%d permits are used, but %d of %s, want the same number", used, gone[len(gone)-1], c.pairedKey)
	}
	given, doubted := int64(len(c.grants)), int64(len(c.doubts))
	if given > c.limit {
		fail("%d permits granted of %d", given, c.limit)
	}
	if used < given || used > given+doubted {
		fail("%d permits are used, with %d granted and %d uncertain", used, given, doubted)
	}
	slices.SortFunc(c.grants, func(a, b grant) int { return int(b.remaining - a.remaining) })
	latest := int64(0) // latest send time of the grants so far
	for i, g := range c.grants {
		switch {
		case g.remaining < c.limit-used || g.remaining >= c.limit:
			fail("a grant with %d remaining, of %d with %d used", g.remaining, c.limit, used)
		case i > 0 && g.remaining == c.grants[i-1].remaining:
			fail("two grants with %d remaining", g.remaining)
		case g.known < latest:
			fail("a grant with %d remaining, before one with more was requested", g.remaining)
		case g.sent > c.denied:
			fail("a grant with %d remaining, requested after a denial", g.remaining)
		}
		latest = max(latest, g.sent)
	}
	if before := c.takenBefore(c.denied); c.denials > 0 && before < c.limit {
		fail("denied with at most %d permits of %d used", before, c.limit)
	}
	return errors.Join(failures...)
}

// takenBefore returns the maximum number of permits that may have been used before a time:
// every take that was sent before it counts.
func (c *permitHistory) takenBefore(time int64) (n int64) {
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

func TestPermitHistory(t *testing.T) {
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
		want  string // substring of the error; "": no error
	}{
		{"sequential takes", []take{{1, 2, ok(2)}, {3, 4, ok(1)}, {5, 6, ok(0)}, {7, 8, no}}, 3, ""},
		{"concurrent takes, in any order", []take{{1, 6, ok(0)}, {2, 5, ok(2)}, {3, 4, ok(1)}}, 3, ""},
		{"an order that contradicts time", []take{{1, 2, ok(1)}, {3, 4, ok(2)}}, 2, "before one with more was requested"},
		{"one too many", []take{{1, 2, ok(2)}, {3, 4, ok(1)}, {5, 6, ok(0)}, {7, 8, ok(0)}}, 3, "4 permits granted of 3"},
		{"the same twice", []take{{1, 2, ok(2)}, {3, 4, ok(2)}}, 2, "two grants with 2 remaining"},
		{"a lost take", []take{{1, 2, ok(2)}, {3, 4, ok(1)}}, 1, "1 permits are used, with 2 granted"},
		{"a permit used without a take", []take{{1, 2, ok(2)}}, 2, "2 permits are used, with 1 granted"},
		{"an uncertain take that is applied", []take{{1, 2, ok(2)}, {3, 4, nil}, {5, 6, ok(0)}}, 3, ""},
		{"an uncertain take that is lost", []take{{1, 2, ok(2)}, {3, 4, respclient.Error("UNCERTAIN so")}, {5, 6, ok(1)}}, 2,
			""},
		{"a rejected take that is applied", []take{{1, 2, ok(2)}, {3, 4, respclient.Error("CLUSTERDOWN so")}}, 2,
			"2 permits are used"},
		{"more remaining than the limit allows", []take{{1, 2, ok(3)}}, 1, "3 remaining"},
		{"fewer remaining than at the end", []take{{1, 2, ok(0)}}, 1, "0 remaining"},
		{"denied with permits remaining", []take{{1, 2, ok(2)}, {3, 4, ok(1)}, {5, 6, no}}, 2, "denied with at most 2"},
		{"a grant after a denial", []take{{1, 2, ok(2)}, {3, 4, ok(1)}, {5, 6, no}, {7, 8, ok(0)}}, 3, "after a denial"},
		{"denied with uncertain takes", []take{{1, 2, ok(2)}, {3, 9, nil}, {4, 9, nil}, {5, 6, no}}, 3, ""},
		{"denied before an uncertain take", []take{{1, 2, ok(2)}, {3, 4, ok(1)}, {5, 6, no}, {7, 8, nil}}, 3,
			"denied with at most 2"},
		{"denied during the last grant", []take{{1, 2, ok(2)}, {3, 4, ok(1)}, {5, 8, ok(0)}, {6, 7, no}}, 3, ""},
	} {
		c := newPermitHistory("k", "", 3)
		for _, take := range tt.takes {
			if err := c.note(take.reply, take.sent, take.known); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		err := c.check([]int64{tt.used})
		if got := fmt.Sprint(err); (err == nil) != (tt.want == "") || !strings.Contains(got, tt.want) && err != nil {
			t.Errorf("%s: check = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestPermitHistoryRejectsMalformedReplies(t *testing.T) {
	for _, reply := range []any{
		respclient.Error("ERR so"), "OK", []any{int64(1), int64(3)}, []any{int64(1), int64(4), int64(1), int64(0), int64(0)},
		[]any{int64(0), int64(3), int64(1), int64(0), int64(0)}, []any{int64(2), int64(3), int64(1), int64(0), int64(0)},
	} {
		if err := newPermitHistory("k", "", 3).note(reply, 1, 2); err == nil {
			t.Errorf("note(%v) = nil, want an error", reply)
		}
	}
}

func TestPermitHistoryOfTwoKeys(t *testing.T) {
	five := func(remaining int64) []any { return []any{int64(1), int64(3), remaining, int64(-1), int64(0)} }
	both := func(a, b int64) any { return []any{int64(1), int64(0), five(a), five(b)} }
	c := newPermitHistory("k", "", 3)
	c.pairedKey = "pair"
	for _, remaining := range []int64{2, 1} {
		if err := c.note(both(remaining, remaining), 1, 2); err != nil {
			t.Error(err)
		}
	}
	if err := c.note(both(0, 1), 1, 2); err == nil {
		t.Error("note of a take of only one key = nil, want an error")
	}
	if err := c.check([]int64{2, 2}); err != nil {
		t.Error(err)
	}
	if err := c.check([]int64{2, 1}); err == nil || !strings.Contains(err.Error(), "1 of pair") {
		t.Errorf("check of 2 and 1 = %v", err)
	}
}
