package engine

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"limitsrv/engine/topk"
)

// TestTopCounts checks which ops count, and for which key.
func TestTopCounts(t *testing.T) {
	const at = Instant(1e18)
	p := Params{Alg: Fixed, Limit: 2, Period: 1e12}
	take := func(key string, n int64, mode Mode) Op {
		return Op{Kind: Take, Mode: mode, Key: []byte(key), Params: p, N: n}
	}
	lease := Op{Kind: Acquire, Key: []byte("a"), Params: Params{Alg: Lease, Limit: 1, Period: 1e12}, N: 1, ID: []byte("1")}
	other := lease
	other.ID = []byte("2")
	group := func(ops ...Op) []Op {
		ops[0].Group = uint8(len(ops))
		return ops
	}
	for _, tt := range []struct {
		name        string
		batches     [][]Op
		hot, denied string
	}{
		{"a request once, however many permits", [][]Op{{take("a", 2, 0)}}, "a=1", ""},
		{"a denial", [][]Op{{take("a", 3, 0)}}, "a=1", "a=1"},
		{"a denial under shadow", [][]Op{{take("a", 3, Shadow)}}, "a=1", "a=1"},
		{"a part", [][]Op{{take("a", 3, Partial)}, {take("a", 3, Partial)}}, "a=2", "a=1"},
		{"not a read-only op", [][]Op{{take("a", 0, 0), {Kind: Peek, Key: []byte("a")}}}, "", ""},
		{"not a charge or refund", [][]Op{{{Kind: Charge, Key: []byte("a"), N: 1}, {Kind: Refund, Key: []byte("a"), N: 1}}},
			"", ""},
		{"not another algorithm's key", [][]Op{{lease}, {take("a", 1, 0)}}, "a=1", ""},
		{"leases", [][]Op{{lease, lease, other}}, "a=3", "a=1"},
		{"each of a group", [][]Op{group(take("a", 1, 0), take("b", 1, 0))}, "a=1 b=1", ""},
		{"the denying limits of a group", [][]Op{group(take("a", 1, 0), take("b", 3, 0))}, "a=1 b=1", "b=1"},
		{"not a read-only op in a group", [][]Op{group(take("a", 1, 0), take("b", 0, 0))}, "a=1", ""},
		{"a flushed key", [][]Op{{take("a", 3, 0)}, {{Kind: Flush}}}, "a=1", "a=1"},
		{"a forgotten key", [][]Op{{take("a", 1, 0)}, {{Kind: Forget, Key: []byte("a")}}}, "a=1", ""},
		{"the most first, then by key", [][]Op{{take("b", 1, 0), take("c", 1, 0), take("a", 1, 0), take("c", 1, 0)}},
			"c=2 a=1 b=1", ""},
	} {
		e := New(Options{})
		for _, ops := range tt.batches {
			e.Apply(at, &Batch{Ops: ops})
		}
		for kind, want := range map[TopKind]string{TopHot: tt.hot, TopDenied: tt.denied} {
			for _, window := range []topk.Window{topk.Minute, topk.Hour} {
				got := e.Top(at, kind, window, 10)
				var text []byte
				for _, r := range got.Rows {
					text = fmt.Appendf(text, "%s=%d ", r.Key, r.Count)
				}
				if string(bytes.TrimSpace(text)) != want || got.Others != 0 {
					t.Errorf("%s: kind %d, window %d: Top is %q, others %d, want %q", tt.name, kind, window, text, got.Others, want)
				}
			}
		}
	}
}

// TestTopTime queries a key that was counted once as time advances, jumps, and after a
// query for a later time.
func TestTopTime(t *testing.T) {
	const at = Instant(1e18 + 5e9)
	for _, tt := range []struct {
		name         string
		asked        Instant // when Top is asked
		applied      Instant // when another op was applied before that; 0: no other op
		minute, hour bool    // whether it is listed
	}{
		{"at once", at, 0, true, true},
		{"asked about an earlier time", 1, 0, true, true},
		{"a minute later", at + 60e9, at + 60e9, true, true},
		{"a minute later, without ops since", at + 60e9, 0, true, true},
		{"before its ten seconds are a minute old", 1e18 + 70e9 - 1, at + 60e9, true, true},
		{"when its ten seconds are a minute old", 1e18 + 70e9, at + 70e9, false, true},
		{"the same, without ops since", 1e18 + 70e9, 0, false, true},
		{"an hour later", at + 3600e9, at + 600e9, false, true},
		{"an hour later, without ops since", at + 3600e9, 0, false, true},
		{"before its five minutes are an hour old", 1e18 + 3800e9 - 1, at + 3600e9, false, true},
		{"when its five minutes are an hour old", 1e18 + 3800e9, at + 3600e9, false, false},
		{"the same, without ops since", 1e18 + 3800e9, 0, false, false},
		{"at the end of time", math.MaxInt64, 0, false, false},
		{"after the end of time", at, math.MaxInt64, false, false},
		{"after a query for a later time", at + 1, -1, true, true},
	} {
		e := New(Options{Shards: 1})
		take := func(at Instant, key string) {
			op := Op{Kind: Take, Key: []byte(key), Params: Params{Alg: Fixed, Limit: 2, Period: 1e12}, N: 1}
			e.Apply(at, &Batch{Ops: []Op{op}})
		}
		take(at, "a")
		switch {
		case tt.applied > 0:
			take(tt.applied, "b")
		case tt.applied < 0:
			e.Top(at+1e15, TopHot, topk.Hour, 10)
		}
		for window, want := range map[topk.Window]bool{topk.Minute: tt.minute, topk.Hour: tt.hour} {
			got := e.Top(tt.asked, TopHot, window, 10)
			listed := slices.ContainsFunc(got.Rows,
				func(r topk.Row) bool { return string(r.Key) == "a" && r.Count == 1 && r.Error == 0 })
			if listed != want {
				t.Errorf("%s: window %d: from %d to %d Top is %+v, want the key listed: %v", tt.name, window, got.From, got.To,
					got.Rows, want)
			}
		}
	}
}
