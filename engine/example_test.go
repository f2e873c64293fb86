package engine_test

import (
	"fmt"
	"time"

	"limitsrv/engine"
)

// Two permits at most, and one more each second.
func Example() {
	e := engine.New(engine.Options{})
	limit := engine.Params{Alg: engine.Token, Limit: 2, Count: 1, Period: int64(time.Second)}
	b := new(engine.Batch)
	for range 3 {
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Key: []byte("user:42"), Params: limit, N: 1})
	}
	e.Apply(1_750_000_000_000_000_000, b) // nanoseconds since the Unix epoch
	for _, d := range b.Decisions {
		fmt.Println(d.Allowed, d.Remaining, d.Wait.CeilMillis())
	}
	// Output:
	// 1 1 0
	// 1 0 0
	// 0 0 1000
}

// A group passes if each of its limits passes: otherwise it takes from no limit.
func ExamplePassed() {
	e := engine.New(engine.Options{})
	minute := engine.Params{Alg: engine.Fixed, Limit: 100, Period: int64(time.Minute)}
	second := engine.Params{Alg: engine.Fixed, Limit: 1, Period: int64(time.Second)}
	for range 2 {
		b := &engine.Batch{Ops: []engine.Op{
			{Kind: engine.Take, Key: []byte("user:42:minute"), Params: minute, N: 1, Group: 2},
			{Kind: engine.Take, Key: []byte("user:42:second"), Params: second, N: 1},
		}}
		e.Apply(1_750_000_000_000_000_000, b)
		fmt.Println(engine.Passed(b.Ops, b.Decisions), b.Decisions[0].Remaining)
	}
	// Output:
	// true 99
	// false 99
}

// At a bound of memory, keys are evicted before a batch that needs room.
func ExampleEngine_MakeRoom() {
	e := engine.New(engine.Options{MaxMemory: 1 << 20, Evict: true})
	limit := engine.Params{Alg: engine.Fixed, Limit: 100, Period: int64(time.Hour)}
	b, now := new(engine.Batch), engine.Instant(1_750_000_000_000_000_000)
	for i := range 30_000 {
		b.Reset()
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Key: fmt.Append(nil, "user:", i), Params: limit, N: 1})
		e.MakeRoom(now, b)
		e.Apply(now, b)
	}
	stats := e.Stats()
	fmt.Println(stats.Refused, stats.Evicted > 0, stats.Keys+stats.Evicted)
	// Output: 0 true 30000
}

// A Snapshot is read while the engine continues, and loaded into another engine.
func ExampleEngine_Freeze() {
	e := engine.New(engine.Options{})
	limit := engine.Params{Alg: engine.Token, Limit: 5, Count: 1, Period: int64(time.Hour)}
	b := &engine.Batch{Ops: []engine.Op{{Kind: engine.Take, Key: []byte("user:42"), Params: limit, N: 2}}}
	e.Apply(1_750_000_000_000_000_000, b)

	s, copied := e.Freeze(), engine.New(engine.Options{})
	defer s.Close()
	for shard := range s.Shards() {
		for block, _, ok := s.Next(shard, nil); ok; block, _, ok = s.Next(shard, nil) {
			if err := copied.Load(block); err != nil {
				fmt.Println(err)
			}
		}
	}
	fmt.Println(copied.Len(), copied.Digest(s.Now()) == e.Digest(s.Now()))
	// Output: 1 true
}
