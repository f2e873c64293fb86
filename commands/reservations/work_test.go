package reservations_test

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/reservations"
	"limitsrv/commands/spec"
	"limitsrv/commands/weighing"
	"limitsrv/engine"
)

// workCases have the calls by number, each with the number of elements that a call on a reservation with
// limits and layers visits: 1 for each limit, or for each layer of each limit.
var workCases = map[string]struct {
	build func(b *engine.Batch, keys []string)
	least func(limits, layers int) int
}{
	"reserve": {func(b *engine.Batch, keys []string) {
		for _, key := range keys {
			b.Ops = append(b.Ops, engine.Op{Params: engine.Params{Alg: engine.Fixed, Limit: 1e9, Period: 1e15}, N: 1,
				Key: []byte(key)})
		}
		reservations.Reserve(b, 0, []byte("another"), reservations.Terms{TTL: 10e9})
	}, func(limits, _ int) int { return limits }},
	"reserve again": {func(b *engine.Batch, keys []string) {
		for _, key := range keys {
			b.Ops = append(b.Ops, engine.Op{Params: engine.Params{Alg: engine.Fixed, Limit: 1e9, Period: 1e15}, N: 1,
				Key: []byte(key)})
		}
		reservations.Reserve(b, 0, []byte("id"), reservations.Terms{TTL: 10e9})
	}, func(limits, _ int) int { return limits }},
	"extend": {func(b *engine.Batch, _ []string) {
		reservations.Extend(b, []byte("id"), reservations.Extension{TTL: 20e9, Keep: 1})
	}, perLayer},
	"extend by": {func(b *engine.Batch, _ []string) {
		reservations.Extend(b, []byte("id"), reservations.Extension{TTL: 20e9, By: 1, Keep: 1})
	}, perLayer},
	"commit": {func(b *engine.Batch, _ []string) { reservations.Commit(b, []byte("id"), []int64{1 << 20}) }, perLayer},
	"commit named": {func(b *engine.Batch, keys []string) {
		reservations.CommitNamed(b, []byte("named"), []weighing.Amount{{Name: []byte("in"), N: 1 << 20}})
	}, perLimit},
	"reserve named": {func(b *engine.Batch, keys []string) { reserveNamed(b, "another", keys) }, perLimit},
	"cancel":        {func(b *engine.Batch, _ []string) { reservations.Cancel(b, []byte("id")) }, perLayer},
	"reserved":      {func(b *engine.Batch, _ []string) { reservations.Reserved(b, []byte("id")) }, perLayer},
	"reserved of": {func(b *engine.Batch, keys []string) {
		reservations.ReservedOf(b, []byte(keys[0]), 0, 50)
	}, func(int, int) int { return 50 }},
	"once": {func(b *engine.Batch, keys []string) {
		b.Ops = append(b.Ops, engine.Op{Params: engine.Params{Alg: engine.Fixed, Limit: 1e9, Period: 1e15}, N: 1,
			Key: []byte(keys[0])})
		reservations.Wrap(b, 0, []byte("another"), 1e9, 1)
	}, func(int, int) int { return 0 }}, // bounded by the words of the request
}

func perLimit(limits, _ int) int { return limits }

// reserveNamed reserves a permit of each limit, with weights of two amounts.
func reserveNamed(b *engine.Batch, id string, keys []string) {
	t := reservations.Terms{TTL: 10e9, Names: [][]byte{[]byte("in"), []byte("out")}}
	b.Ops = append(b.Ops, engine.NeedsOf(engine.Rules, 0, len(keys)))
	for i, key := range keys {
		b.Ops = append(b.Ops, engine.Op{Params: engine.Params{Alg: engine.Fixed, Limit: 1e9, Period: 1e15}, N: 1,
			Key: []byte(key)})
		t.Weights = append(t.Weights, reservations.Weight{Limit: i, Name: 0, Millionths: 2_500_000},
			reservations.Weight{Limit: i, Name: 1, Millionths: 1})
	}
	reservations.Reserve(b, 0, []byte(id), t)
}

func perLayer(limits, layers int) int { return limits * layers }

// A workMeter keeps the work of the last call.
type workMeter struct {
	*spec.Calls
	work *int64
}

func (x workMeter) Do(tx *engine.Tx, c *engine.Call) {
	x.Calls.Do(tx, c)
	*x.work = tx.TakeWork()
}

// TestWorkOfCalls expects each call to count the work for all limits and layers that it visits, and for the
// bytes of the record.
func TestWorkOfCalls(t *testing.T) {
	seen := map[uint16]bool{}
	for name, tt := range workCases {
		for _, size := range [][2]int{{1, 1}, {64, 1}, {1, 16}, {64, 16}} {
			var work int64
			e := engine.New(engine.Options{Commands: workMeter{commands, &work}})
			s := &stand{t, e, 1e18}
			keys := make([]string, size[0])
			for i := range keys {
				keys[i] = fmt.Sprint(i, strings.Repeat("k", 200))
			}
			s.reserve("id", 1, 0, keys...)
			for range size[1] - 1 {
				s.now++
				s.extend("id", 1)
			}
			var named, b engine.Batch
			reserveNamed(&named, "named", keys)
			e.Apply(s.now, &named)
			tt.build(&b, keys)
			number := b.Calls[0].Command
			seen[number] = true
			e.Apply(s.now+1, &b)
			if least := int64(tt.least(size[0], size[1])); work < least {
				t.Errorf("%s of %d limits with %d layers counts %d visits, want at least %d", name, size[0], size[1], work, least)
			}
		}
	}
	for number := range uint16(16) {
		if number += 4 << 12; reservations.CallName(number) != "" && !seen[number] {
			t.Errorf("call %d has no case", number)
		}
	}
}
