package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"limitsrv/engine"
)

const trackedAt = engine.Instant(1_700_000_000 * second)

// A tracker gets the changes of an engine, as KEY/ORIGIN, or * for all keys.
type tracker struct {
	engine.Notices
	changes []string
}

func newTracker() *tracker {
	t := new(tracker)
	t.HandleChanges(func(changes []engine.Change) {
		for _, c := range changes {
			if c.All {
				t.changes = append(t.changes, "*")
				continue
			}
			t.changes = append(t.changes, fmt.Sprintf("%d:%s/%d", c.DB, c.Key, c.Origin))
		}
	})
	t.Track(1)
	return t
}

// apply applies ops of a client, and returns the changes.
func (t *tracker) apply(e *engine.Engine, origin int64, ops ...engine.Op) string {
	t.changes = nil
	b := engine.Batch{Ops: ops, Notices: &t.Notices, Origin: origin}
	for i := range ops {
		if b.Atomic = b.Atomic || ops[i].Kind == engine.Expect; ops[i].Kind == engine.Do {
			b.Calls = append(b.Calls, engine.Call{Command: toySet, Args: [][]byte{ops[i].Key, []byte("v"), []byte("0")}})
		}
	}
	e.Apply(trackedAt, &b)
	t.Send()
	return strings.Join(t.changes, " ")
}

// TestChangesOfKinds applies an op of each kind that changes its key, and an op that changes no
// key.
func TestChangesOfKinds(t *testing.T) {
	token := engine.Params{Alg: engine.Token, Limit: 2, Count: 1, Period: hour}
	lease := engine.Params{Alg: engine.Lease, Limit: 2, Period: hour}
	take := engine.Op{Kind: engine.Take, Key: []byte("k"), N: 1, Params: token}
	acquire := engine.Op{Kind: engine.Acquire, Key: []byte("k"), ID: []byte("a"), N: 1, Params: lease}
	of := func(k engine.Kind, n int64) engine.Op { return engine.Op{Kind: k, Key: []byte("k"), N: n} }
	for kind := engine.Kind(0); kind.String() != ""; kind++ {
		var (
			before        []engine.Op
			changes, same engine.Op
			want          = "3:k/7"
		)
		switch kind {
		case engine.Take:
			changes, same = take, take
			same.N = 0
		case engine.Refund, engine.Charge:
			before, changes, same = []engine.Op{take}, of(kind, 1), of(kind, 0)
		case engine.Forget:
			before, changes, same = []engine.Op{take}, of(kind, 0), engine.Op{Kind: kind, Key: []byte("none")}
		case engine.Acquire:
			changes, same = acquire, acquire
			same.N = 0
		case engine.Release:
			before, changes = []engine.Op{acquire}, engine.Op{Kind: kind, Key: []byte("k"), ID: []byte("a")}
			same = engine.Op{Kind: kind, Key: []byte("k"), ID: []byte("nobody")}
		case engine.Flush:
			changes, same, want = of(kind, 1), of(engine.Peek, 0), "*"
		case engine.Do:
			changes, same = of(kind, 0), of(engine.Peek, 0)
		case engine.Needs:
			changes, same = engine.Op{Kind: kind, Group: 2}, engine.Op{Kind: kind, Group: 2, N: 9}
		case engine.Peek, engine.Expect, engine.Watch:
			before, changes, same, want = []engine.Op{take}, of(kind, 0), of(kind, 0), ""
			if kind == engine.Expect {
				before = nil
			}
		case engine.Learn:
			changes, same, want = engine.Op{Kind: kind, ID: []byte("x")}, of(engine.Peek, 0), ""
		default:
			t.Errorf("%s has no case", kind)
			continue
		}
		e, tr := engine.New(engine.Options{Shards: 2, Commands: toy{}}), newTracker()
		ops := []engine.Op{same}
		if kind == engine.Needs {
			ops = append(ops, take)
		}
		inDB := func(ops []engine.Op) []engine.Op {
			ops = slices.Clone(ops)
			for i := range ops {
				if ops[i].Kind != engine.Needs && ops[i].Kind != engine.Learn {
					ops[i].DB = 3
				}
			}
			return ops
		}
		tr.apply(e, 7, inDB(before)...)
		if got := tr.apply(e, 7, inDB(ops)...); got != "" {
			t.Errorf("%s that changes nothing: %q is told", kind, got)
		}
		ops[0] = changes
		if got := tr.apply(e, 7, inDB(ops)...); got != want {
			t.Errorf("%s: %q is told, want %q", kind, got, want)
		}
	}
}

// TestChangesOfGroups: all keys of a group that passes are told, and no key of a group that is
// denied.
func TestChangesOfGroups(t *testing.T) {
	op := func(key string, limit int64) engine.Op {
		return engine.Op{Kind: engine.Take, Key: []byte(key), N: 1,
			Params: engine.Params{Alg: engine.Token, Limit: limit, Count: 1, Period: hour}}
	}
	e, tr := engine.New(engine.Options{}), newTracker()
	for _, want := range []string{"0:a/1 0:b/1", ""} {
		ops := []engine.Op{op("a", 1), op("b", 5)}
		ops[0].Group = 2
		if got := tr.apply(e, 1, ops...); got != want {
			t.Errorf("the group tells %q, want %q", got, want)
		}
	}
}

// TestChangesWhenEvicted fills an engine with limits and strings until keys are evicted: each key
// that is gone was told.
func TestChangesWhenEvicted(t *testing.T) {
	for _, plain := range []bool{false, true} {
		e, tr := engine.New(engine.Options{Shards: 1, MaxMemory: 64 << 10, Evict: true, Commands: toy{}}), newTracker()
		told := map[string]int{}
		for i := range 4000 {
			op := engine.Op{Kind: engine.Take, Key: fmt.Appendf(nil, "key-%d", i), N: 1,
				Params: engine.Params{Alg: engine.Token, Limit: 2, Count: 1, Period: hour}}
			b := engine.Batch{Notices: &tr.Notices}
			if plain {
				*b.AddCall(0) = engine.Call{Command: toySet,
					Args: [][]byte{op.Key, []byte("value"), fmt.Append(nil, trackedAt.Millis()+int64(1000+i))}}
			} else {
				b.Ops = append(b.Ops, op)
			}
			tr.changes = nil
			e.MakeRoom(trackedAt, &b)
			e.Apply(trackedAt, &b)
			tr.Send()
			for _, c := range tr.changes {
				told[c]++
			}
		}
		gone := 0
		for i := range 4000 {
			key := fmt.Sprintf("key-%d", i)
			there := apply(e, trackedAt, engine.Op{Kind: engine.Peek, Key: []byte(key)})[0].Status == engine.OK
			if !there {
				gone++
			}
			if n := told["0:"+key+"/0"]; (n == 2) == there {
				t.Fatalf("plain %t: %s is there: %t, and was told %d times", plain, key, there, n)
			}
		}
		if gone == 0 {
			t.Errorf("plain %t: no key was evicted", plain)
		}
	}
}

// TestChangesAreBounded: too many changes become a change of all keys, those without clients
// are not noted, and another state changes all keys.
func TestChangesAreBounded(t *testing.T) {
	e, tr := engine.New(engine.Options{}), newTracker()
	var ops []engine.Op
	for i := range 70_000 {
		ops = append(ops, engine.Op{Kind: engine.Take, Key: fmt.Append(nil, i), N: 1,
			Params: engine.Params{Alg: engine.Token, Limit: 2, Count: 1, Period: hour}})
	}
	if got := tr.apply(e, 0, ops...); got != "*" {
		t.Errorf("%d changes are told, want one of all keys", len(tr.changes))
	}
	for _, event := range []func(){tr.Outdated, tr.Replaced} {
		if tr.changes = nil; true {
			event()
		}
		if fmt.Sprint(tr.changes) != "[*]" {
			t.Errorf("after another state %q is told", tr.changes)
		}
	}
	tr.Track(-1)
	if got := tr.apply(e, 0, ops[0]); got != "" {
		t.Errorf("%q is told without clients", got)
	}
	tr.changes = nil
	if tr.Outdated(); tr.changes != nil {
		t.Errorf("%q is told without clients", tr.changes)
	}
}
