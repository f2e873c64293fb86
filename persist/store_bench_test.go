package persist

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

// BenchmarkCommit executes a batch on a Store on disk, with its Commit, and the same
// without a log.
func BenchmarkCommit(b *testing.B) {
	for _, ops := range []int{1, 16, 64} {
		batch := &engine.Batch{}
		for i := range ops {
			batch.Ops = append(batch.Ops,
				engine.Op{Kind: engine.Take, Params: counterOf, N: 1, Key: fmt.Appendf(nil, "benchmark:key:%08d", i)})
		}
		answer := make(chan error, 1)
		done := func(err error) { answer <- err }
		b.Run(fmt.Sprintf("memory/ops=%d", ops), func(b *testing.B) {
			e, clock := engine.New(engine.Options{}), newTestClock()
			b.ReportAllocs()
			for b.Loop() {
				e.Apply(clock.Now(), batch)
			}
		})
		for _, policy := range allPolicies {
			b.Run(fmt.Sprintf("%v/ops=%d", policy, ops), func(b *testing.B) {
				s, err := Open(Options{Dir: b.TempDir(), FS: vfs.Default, Policy: policy, Clock: newTestClock()})
				if err == nil {
					err = s.Recover(context.Background())
				}
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close(context.Background(), SaveNever)
				b.ReportAllocs()
				for b.Loop() {
					s.Exec(batch, done)
					s.Commit()
					if err := <-answer; err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkGroup encodes and applies fifty batches of 16 ops over a million keys, as a group and
// separately.
func BenchmarkGroup(b *testing.B) {
	for _, together := range []bool{false, true} {
		b.Run(fmt.Sprintf("together=%v", together), func(b *testing.B) {
			s, err := Open(Options{Dir: b.TempDir(), Policy: Always, Clock: newTestClock()})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close(context.Background(), SaveNever)
			var (
				p     = s.pipeline
				group []request
				rng   = rand.New(rand.NewPCG(1, 1))
			)
			for range 50 {
				group = append(group, request{&engine.Batch{Ops: make([]engine.Op, 16)}, func(error) {}})
			}
			commitGroup := func(requests []request) {
				p.pending.Reset()
				g := p.builder.Build(1, requests, engine.Room{Bytes: maxGroupBytes})
				for batch := range g.Batches {
					s.engine.Apply(1, batch)
				}
				g.Answer(nil)
				p.builder.Recycle(g)
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range group {
					for i := range r.batch.Ops {
						key := fmt.Appendf(r.batch.Ops[i].Key[:0], "benchmark:key:%08d", rng.IntN(1_000_000))
						r.batch.Ops[i] = engine.Op{Kind: engine.Take, Params: counterOf, N: 1, Key: key}
					}
				}
				if together {
					commitGroup(group)
					continue
				}
				for i := range group {
					commitGroup(group[i : i+1])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*800), "ns/take")
		})
	}
}
