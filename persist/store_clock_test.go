package persist

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

// If the clock shows a time before the last decision before the restart, keys neither
// regain nor lose permits: time stands still until the clock has caught up.
func TestClockWentBack(t *testing.T) {
	keys := []engine.Op{
		{Kind: engine.Take, Key: []byte("token"), N: 5,
			Params: engine.Params{Alg: engine.Token, Limit: 5, Count: 1, Period: int64(time.Second) / 5}},
		{Kind: engine.Take, Key: []byte("log"), N: 5,
			Params: engine.Params{Alg: engine.Log, Limit: 5, Period: int64(time.Second)}},
		{Kind: engine.Acquire, Key: []byte("places"), N: 1, ID: []byte("a"),
			Params: engine.Params{Alg: engine.Lease, Limit: 1, Period: int64(time.Second)}},
	}
	// again asks for the same, for another holder.
	again := func(s *Store) (allowed string) {
		b := engine.Batch{}
		for _, op := range keys {
			if op.Kind == engine.Acquire {
				op.ID = []byte("b")
			}
			b.Ops = append(b.Ops, op)
		}
		if err := perform(s, &b); err != nil {
			t.Fatal(err)
		}
		for _, d := range b.Decisions {
			allowed += fmt.Sprint(d.Allowed)
			if d.Allowed == 0 && d.Wait.Millis > 1000 {
				t.Errorf("the wait is %d ms, want at most 1000", d.Wait.Millis)
			}
		}
		return allowed
	}
	for _, policy := range allPolicies {
		for _, save := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v save=%v", policy, save), func(t *testing.T) {
				o := testOptions(t, vfs.NewMem(), policy)
				clock := o.Clock.(*testClock)
				s := start(t, o)
				if err := perform(s, &engine.Batch{Ops: keys}); err != nil {
					t.Fatal(err)
				}
				end(t, s, save)
				clock.add(-time.Hour)
				for _, step := range []struct {
					by   time.Duration
					want string
				}{
					{0, "000"},
					{30 * time.Minute, "000"},
					{30*time.Minute + 900*time.Millisecond, "000"},
					{200 * time.Millisecond, "111"},
				} {
					clock.add(step.by)
					s := start(t, o)
					if got := again(s); got != step.want {
						t.Errorf("%v after the restart %s is allowed, want %s",
							time.Duration(clock.Now()-1_700_000_000*engine.Instant(time.Second)), got, step.want)
					}
					end(t, s, save)
				}
			})
		}
	}
}
