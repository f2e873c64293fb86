package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"limitsrv/internal/respclient"
)

// A history records the requests of many clients for shared keys, and their replies.
//
// Concurrency: safe for concurrent use.
type history interface {
	// next returns a command, and the function that records its reply; a reply of nil did
	// not arrive. It returns an error if the reply is malformed. sent and known are times
	// of a logical clock.
	next() (command string, note func(reply any, sent, known int64) error)
	// isExhausted reports that further requests add no information.
	isExhausted() bool
	// peeks returns commands that return the states of the keys of the history, which all
	// have the same limit.
	peeks() (commands []string, limit int64)
	// check returns an error unless a single server without failures could have given
	// all replies, if used permits of each key are used at the end.
	check(used []int64) error
}

// An outcome is the effect of a command, derived from its reply.
type outcome int

const (
	done     outcome = iota // applied
	refused                 // not applied
	doubtful                // unknown
)

// refusals are the error codes of commands that were not applied.
var refusals = []string{"LOADING", "MISCONF", "CLUSTERDOWN", "TRYAGAIN"}

// outcomeOf returns the outcome of a command with the given reply.
func outcomeOf(reply any) outcome {
	switch {
	case reply == nil, isError(reply, "UNCERTAIN"):
		return doubtful
	case slices.ContainsFunc(refusals, func(code string) bool { return isError(reply, code) }):
		return refused
	}
	return done
}

// A chargeHistory is a key with charges and refunds of single permits.
type chargeHistory struct {
	key string

	mu               sync.Mutex
	sent             int
	charged, refunds sums
	returned         int64 // refunds sent: fewer than charges, so that each has an effect
}

// sums are the number of permits with a known and with an unknown outcome.
type sums struct{ certain, doubtful int64 }

const (
	chargeLimit = 1_000_000
	chargeSteps = 400
)

func (l *chargeHistory) next() (string, func(any, int64, int64) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	switch {
	case l.charged.certain == 0:
		return fmt.Sprintf("RL.TOKEN %s %d 1/3650d", l.key, chargeLimit), l.noting(&l.charged)
	case l.sent%2 == 0 && l.charged.certain-l.returned > 1:
		l.returned++
		return fmt.Sprintf("RL.REFUND %s 1", l.key), l.noting(&l.refunds)
	}
	return fmt.Sprintf("RL.CHARGE %s 1", l.key), l.noting(&l.charged)
}

// noting returns the function that counts a permit by the reply to its command.
func (l *chargeHistory) noting(moved *sums) func(any, int64, int64) error {
	return func(reply any, _, _ int64) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch outcomeOf(reply) {
		case doubtful:
			moved.doubtful++
		case done:
			if list, ok := reply.([]any); !ok || len(list) != 5 || list[0] != int64(1) || list[1] != int64(chargeLimit) {
				return fmt.Errorf("reply to a charge or refund of %s = %v", l.key, reply)
			}
			moved.certain++
		}
		return nil
	}
}

func (l *chargeHistory) isExhausted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent >= chargeSteps
}

func (l *chargeHistory) peeks() ([]string, int64) { return []string{"RL.PEEK " + l.key}, chargeLimit }

func (l *chargeHistory) check(used []int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	least := l.charged.certain - l.refunds.certain - l.refunds.doubtful
	most := l.charged.certain + l.charged.doubtful - l.refunds.certain
	if used[0] < least || used[0] > most {
		return fmt.Errorf("%s: %d permits are used, want %d to %d: charged %+v, refunded %+v", l.key, used[0], least, most,
			l.charged, l.refunds)
	}
	return nil
}

// A leaseHistory is a key with leases that are acquired and released.
type leaseHistory struct {
	key string

	mu       sync.Mutex
	sent     int
	holders  []string // holders of a lease that have not sent a release
	doubtful int64    // number of other possible holders
	denials  int
}

const (
	leaseLimit      = 8
	leaseSteps      = 400
	maxLeaseDenials = 40 // number of denials until its leases are considered lost
)

func (g *leaseHistory) next() (string, func(any, int64, int64) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent++
	if last := len(g.holders) - 1; last >= 0 && g.sent%2 == 0 {
		holder := g.holders[last]
		g.holders = g.holders[:last]
		return fmt.Sprintf("RL.RELEASE %s %s", g.key, holder),
			func(reply any, _, _ int64) error { return g.released(holder, reply) }
	}
	holder := fmt.Sprint("id", holders.Add(1))
	return fmt.Sprintf("RL.ACQUIRE %s %d 3650d %s", g.key, leaseLimit, holder),
		func(reply any, _, _ int64) error { return g.acquired(holder, reply) }
}

// released records the reply to a release of a lease.
func (g *leaseHistory) released(holder string, reply any) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch outcomeOf(reply) {
	case doubtful:
		g.doubtful++
	case refused:
		g.holders = append(g.holders, holder)
	case done:
		if reply != int64(1) {
			return fmt.Errorf("reply to the release of %s by %s = %v", g.key, holder, reply)
		}
	}
	return nil
}

// acquired records the reply to an acquire.
func (g *leaseHistory) acquired(holder string, reply any) error {
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
	case !ok || len(list) != 5 || list[1] != int64(leaseLimit):
	case list[0] == int64(1):
		if g.holders = append(g.holders, holder); len(g.holders) > leaseLimit {
			return fmt.Errorf("%d holders of %s, the limit is %d", len(g.holders), g.key, leaseLimit)
		}
		return nil
	case list[0] == int64(0) && list[2] == int64(0):
		g.denials++
		return nil
	}
	return fmt.Errorf("reply to an acquire of %s = %v", g.key, reply)
}

func (g *leaseHistory) isExhausted() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sent >= leaseSteps || g.denials >= maxLeaseDenials
}

func (g *leaseHistory) peeks() ([]string, int64) { return []string{"RL.PEEK " + g.key}, leaseLimit }

func (g *leaseHistory) check(used []int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := int64(len(g.holders)); used[0] < n || used[0] > n+g.doubtful {
		return fmt.Errorf("%s: %d leases are used, with %d known and %d possible holders", g.key, used[0], n, g.doubtful)
	}
	return nil
}

// A step is a reply to the next command of a history.
type step struct {
	begins string // prefix of the command
	reply  any
}

// replaySteps replays steps and returns the error of the history, if any.
func replaySteps(t *testing.T, b history, steps []step, used int64) string {
	t.Helper()
	for i, s := range steps {
		command, note := b.next()
		if !strings.HasPrefix(command, s.begins+" ") {
			t.Fatalf("command %d = %q, want %s", i, command, s.begins)
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

func TestChargeHistory(t *testing.T) {
	moved := []any{int64(1), int64(chargeLimit), int64(1), int64(0), int64(0)}
	first := []step{{"RL.TOKEN", moved}, {"RL.CHARGE", moved}, {"RL.CHARGE", moved}, {"RL.REFUND", moved}}
	uncertain, down := respclient.Error("UNCERTAIN so"), respclient.Error("CLUSTERDOWN so")
	for _, tt := range []struct {
		name  string
		steps []step
		used  int64
		want  string // substring of the error; "": no error
	}{
		{"all are applied", first, 2, ""},
		{"a lost charge", first, 1, "1 permits are used, want 2 to 2"},
		{"a lost refund", first, 3, "3 permits are used, want 2 to 2"},
		{"an uncertain charge that is applied", append(first[:4:4], step{"RL.CHARGE", nil}), 3, ""},
		{"an uncertain charge that is applied twice", append(first[:4:4], step{"RL.CHARGE", nil}), 4, "want 2 to 3"},
		{"an uncertain refund that is applied", append(first[:3:3], step{"RL.REFUND", uncertain}), 2, ""},
		{"an uncertain refund that is lost", append(first[:3:3], step{"RL.REFUND", uncertain}), 3, ""},
		{"a rejected charge that is applied", append(first[:4:4], step{"RL.CHARGE", down}), 3, "want 2 to 2"},
		{"a malformed reply", []step{{"RL.TOKEN", "OK"}}, 0, "= OK"},
	} {
		if got := replaySteps(t, &chargeHistory{key: "k"}, tt.steps, tt.used); got == "" != (tt.want == "") ||
			!strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestLeaseHistory(t *testing.T) {
	in := []any{int64(1), int64(leaseLimit), int64(1), int64(0), int64(0)}
	no := []any{int64(0), int64(leaseLimit), int64(0), int64(9), int64(9)}
	acquire := func(reply any) step { return step{"RL.ACQUIRE", reply} }
	release := func(reply any) step { return step{"RL.RELEASE", reply} }
	for _, tt := range []struct {
		name  string
		steps []step
		used  int64
		want  string
	}{
		{"acquired and released", []step{acquire(in), release(int64(1)), acquire(in)}, 1, ""},
		{"a lost lease", []step{acquire(in)}, 0, "0 leases are used, with 1"},
		{"a lost release", []step{acquire(in), release(int64(1))}, 1, "1 leases are used, with 0"},
		{"a lease applied twice", []step{acquire(in)}, 2, "2 leases are used, with 1"},
		{"a lease lost before its release", []step{acquire(in), release(int64(0))}, 0, "= 0"},
		{"uncertain acquires", []step{acquire(nil), acquire(in), acquire(no)}, 2, ""},
		{"an uncertain release", []step{acquire(in), release(nil)}, 1, ""},
		{"a rejected release", []step{acquire(in), release(respclient.Error("CLUSTERDOWN so"))}, 0,
			"0 leases are used, with 1"},
		{"an unexpected error", []step{acquire(respclient.Error("ERR so"))}, 0, "= ERR so"},
	} {
		if got := replaySteps(t, &leaseHistory{key: "k"}, tt.steps, tt.used); got == "" != (tt.want == "") ||
			!strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	g := &leaseHistory{key: "k"}
	for i := range leaseLimit + 1 {
		err := g.acquired(fmt.Sprint(i), in)
		if (err != nil) != (i == leaseLimit) {
			t.Errorf("holder %d: %v", i, err)
		}
	}
}
