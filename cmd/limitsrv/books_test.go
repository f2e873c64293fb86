package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A book is what was asked of keys that clients of all servers share, and what that
// was answered. Its methods may be called by many at once.
type book interface {
	// next is a command to send, and what is to be told its reply, nil if none came. The
	// error is that the reply makes no sense. Times are of a clock that only counts.
	next() (command string, note func(reply any, sent, known int64) error)
	// isSpent says that nothing more is to be learned from it.
	isSpent() bool
	// keys are those that it is about, which all have the same limit.
	keys() (all []string, limit int64)
	// check finds out whether one server that never fails could have answered all
	// that, if so many permits of each key are gone in the end.
	check(used []int64) error
}

// An outcome is what is known of a command.
type outcome int

const (
	done     outcome = iota // it was carried out
	refused                 // it was not
	doubtful                // it may have been
)

// refusals are the errors that say that nothing was done.
var refusals = []string{"LOADING", "MISCONF", "CLUSTERDOWN"}

// outcomeOf tells from a reply that is no error that makes no sense.
func outcomeOf(reply any) outcome {
	switch {
	case reply == nil, isError(reply, "UNCERTAIN"):
		return doubtful
	case slices.ContainsFunc(refusals, func(code string) bool { return isError(reply, code) }):
		return refused
	}
	return done
}

// A ledger is a key that is charged a permit, and given one back, now and then.
type ledger struct {
	key string

	mu               sync.Mutex
	sent             int
	charged, refunds sums
	returned         int64 // refunds that were sent: no more than were charged, so that each counts
}

// sums are of permits that were moved for certain, and of those that may have been.
type sums struct{ certain, doubtful int64 }

const (
	ledgerLimit = 1_000_000
	ledgerSteps = 400
)

func (l *ledger) next() (string, func(any, int64, int64) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	switch {
	case l.charged.certain == 0:
		return fmt.Sprintf("RL.TOKEN %s %d 1/3650d", l.key, ledgerLimit), l.noting(&l.charged)
	case l.sent%2 == 0 && l.charged.certain-l.returned > 1:
		l.returned++
		return fmt.Sprintf("RL.REFUND %s 1", l.key), l.noting(&l.refunds)
	}
	return fmt.Sprintf("RL.CHARGE %s 1", l.key), l.noting(&l.charged)
}

// noting counts a permit by the reply to the command that moves it.
func (l *ledger) noting(moved *sums) func(any, int64, int64) error {
	return func(reply any, _, _ int64) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch outcomeOf(reply) {
		case doubtful:
			moved.doubtful++
		case done:
			if list, ok := reply.([]any); !ok || len(list) != 5 || list[0] != int64(1) || list[1] != int64(ledgerLimit) {
				return fmt.Errorf("a charge or refund of %s is answered %v", l.key, reply)
			}
			moved.certain++
		}
		return nil
	}
}

func (l *ledger) isSpent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent >= ledgerSteps
}

func (l *ledger) keys() ([]string, int64) { return []string{l.key}, ledgerLimit }

func (l *ledger) check(used []int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	least := l.charged.certain - l.refunds.certain - l.refunds.doubtful
	most := l.charged.certain + l.charged.doubtful - l.refunds.certain
	if used[0] < least || used[0] > most {
		return fmt.Errorf("%s: %d permits are gone, want %d to %d: %+v were charged and %+v given back", l.key, used[0], least, most, l.charged, l.refunds)
	}
	return nil
}

// A gate is places that are held for a while.
type gate struct {
	key string

	mu       sync.Mutex
	sent     int
	holders  []string // who was let in, and is not on the way out
	doubtful int64    // who may be in besides
	denials  int
}

const (
	gatePlaces = 8
	gateSteps  = 400
	gateDenied = 40 // after which its places are taken for lost
)

func (g *gate) next() (string, func(any, int64, int64) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent++
	if last := len(g.holders) - 1; last >= 0 && g.sent%2 == 0 {
		holder := g.holders[last]
		g.holders = g.holders[:last]
		return fmt.Sprintf("RL.RELEASE %s %s", g.key, holder), func(reply any, _, _ int64) error { return g.left(holder, reply) }
	}
	holder := fmt.Sprint("id", holders.Add(1))
	return fmt.Sprintf("RL.ACQUIRE %s %d 3650d %s", g.key, gatePlaces, holder), func(reply any, _, _ int64) error { return g.entered(holder, reply) }
}

// left takes note of the reply to a release of a place that was held.
func (g *gate) left(holder string, reply any) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch outcomeOf(reply) {
	case doubtful:
		g.doubtful++
	case refused:
		g.holders = append(g.holders, holder)
	case done:
		if reply != int64(1) {
			return fmt.Errorf("the release of a place of %s that %s has is answered %v", g.key, holder, reply)
		}
	}
	return nil
}

// entered takes note of the reply to an acquire.
func (g *gate) entered(holder string, reply any) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch outcomeOf(reply) {
	case doubtful:
		g.doubtful++
		return nil
	case refused:
		return nil
	}
	list, ok := reply.([]any)
	switch {
	case !ok || len(list) != 5 || list[1] != int64(gatePlaces):
	case list[0] == int64(1):
		if g.holders = append(g.holders, holder); len(g.holders) > gatePlaces {
			return fmt.Errorf("%d hold %s at once, of %d places", len(g.holders), g.key, gatePlaces)
		}
		return nil
	case list[0] == int64(0) && list[2] == int64(0):
		g.denials++
		return nil
	}
	return fmt.Errorf("an acquire of %s is answered %v", g.key, reply)
}

func (g *gate) isSpent() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sent >= gateSteps || g.denials >= gateDenied
}

func (g *gate) keys() ([]string, int64) { return []string{g.key}, gatePlaces }

func (g *gate) check(used []int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := int64(len(g.holders)); used[0] < n || used[0] > n+g.doubtful {
		return fmt.Errorf("%s: %d places are taken, where %d hold one and %d may", g.key, used[0], n, g.doubtful)
	}
	return nil
}

// A step is a reply to the next command of a book.
type step struct {
	begins string // of the command
	reply  any
}

// tryBook has a book go through steps, and says what is wrong in the end, if anything.
func tryBook(t *testing.T, b book, steps []step, used int64) string {
	t.Helper()
	for i, s := range steps {
		command, note := b.next()
		if !strings.HasPrefix(command, s.begins+" ") {
			t.Fatalf("step %d is %q, want %s", i, command, s.begins)
		}
		if err := note(s.reply, 0, 0); err != nil {
			return err.Error()
		}
	}
	if err := b.check([]int64{used}); err != nil {
		return err.Error()
	}
	return ""
}

func TestLedger(t *testing.T) {
	moved := []any{int64(1), int64(ledgerLimit), int64(1), int64(0), int64(0)}
	first := []step{{"RL.TOKEN", moved}, {"RL.CHARGE", moved}, {"RL.CHARGE", moved}, {"RL.REFUND", moved}}
	uncertain, down := replyError("UNCERTAIN so"), replyError("CLUSTERDOWN so")
	for _, tt := range []struct {
		name  string
		steps []step
		used  int64
		want  string // in the error; "": none
	}{
		{"all counts", first, 2, ""},
		{"a charge that does not", first, 1, "1 permits are gone, want 2 to 2"},
		{"a refund that does not", first, 3, "3 permits are gone, want 2 to 2"},
		{"a charge in doubt that counts", append(first[:4:4], step{"RL.CHARGE", nil}), 3, ""},
		{"a charge in doubt that counts twice", append(first[:4:4], step{"RL.CHARGE", nil}), 4, "want 2 to 3"},
		{"a refund in doubt that counts", append(first[:3:3], step{"RL.REFUND", uncertain}), 2, ""},
		{"a refund in doubt that does not", append(first[:3:3], step{"RL.REFUND", uncertain}), 3, ""},
		{"a refusal that counts", append(first[:4:4], step{"RL.CHARGE", down}), 3, "want 2 to 2"},
		{"nonsense", []step{{"RL.TOKEN", "OK"}}, 0, "is answered OK"},
	} {
		if got := tryBook(t, &ledger{key: "k"}, tt.steps, tt.used); got == "" != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestGate(t *testing.T) {
	in := []any{int64(1), int64(gatePlaces), int64(1), int64(0), int64(0)}
	no := []any{int64(0), int64(gatePlaces), int64(0), int64(9), int64(9)}
	acquire := func(reply any) step { return step{"RL.ACQUIRE", reply} }
	release := func(reply any) step { return step{"RL.RELEASE", reply} }
	for _, tt := range []struct {
		name  string
		steps []step
		used  int64
		want  string
	}{
		{"in and out", []step{acquire(in), release(int64(1)), acquire(in)}, 1, ""},
		{"forgotten", []step{acquire(in)}, 0, "0 places are taken, where 1"},
		{"still there", []step{acquire(in), release(int64(1))}, 1, "1 places are taken, where 0"},
		{"in twice", []step{acquire(in)}, 2, "2 places are taken, where 1"},
		{"gone before", []step{acquire(in), release(int64(0))}, 0, "is answered 0"},
		{"in doubt", []step{acquire(nil), acquire(in), acquire(no)}, 2, ""},
		{"a release in doubt", []step{acquire(in), release(nil)}, 1, ""},
		{"a release refused", []step{acquire(in), release(replyError("CLUSTERDOWN so"))}, 0, "0 places are taken, where 1"},
		{"nonsense", []step{acquire(replyError("ERR so"))}, 0, "is answered ERR so"},
	} {
		if got := tryBook(t, &gate{key: "k"}, tt.steps, tt.used); got == "" != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	g := &gate{key: "k"}
	for i := range gatePlaces + 1 {
		err := g.entered(fmt.Sprint(i), in)
		if (err != nil) != (i == gatePlaces) {
			t.Errorf("holder %d: %v", i, err)
		}
	}
}
