package forward

import (
	"fmt"
	"sync"
	"testing"

	"limitsrv/engine"
	"limitsrv/replication/link"
)

// answerAtOnce is an exec that decides nothing.
func answerAtOnce(b *engine.Batch, done func(error)) {
	for i := range b.Ops {
		b.Decisions = append(b.Decisions, engine.Decision{
			Changed: true, Params: b.Ops[i].Params, Allowed: 1, Remaining: 999, Reset: engine.Span{Millis: 1000},
		})
	}
	done(nil)
}

// TestForwardAllocations counts the allocations of both sides for a frame of a hundred
// ops.
func TestForwardAllocations(t *testing.T) {
	listening := tcpLinks(t, "1", link.Options{}, Server{Do: each(answerAtOnce)})
	send := followerOf(t, listening, link.Options{})
	answered := make(chan error, 1)
	requests := []Request{{takes("k", 100), func(err error) { answered <- err }}}
	allocations := testing.AllocsPerRun(2000, func() {
		send(requests)
		if err := <-answered; err != nil {
			t.Error(err)
		}
	})
	if allocations > 1 {
		t.Errorf("%v allocations for a frame of 100 ops, want at most 1", allocations)
	}
}

// BenchmarkForward forwards batches of several clients over a single link, each one at a
// time, to a leader that answers at once. ops/s counts ops.
func BenchmarkForward(b *testing.B) {
	for _, tt := range []struct{ clients, ops int }{{1, 1}, {64, 1}, {512, 1}, {64, 100}} {
		b.Run(fmt.Sprintf("clients=%d/ops=%d", tt.clients, tt.ops), func(b *testing.B) {
			listening := tcpLinks(b, "1", link.Options{}, Server{Do: each(answerAtOnce)})
			send := followerOf(b, listening, link.Options{})
			b.ReportAllocs()
			var wait sync.WaitGroup
			for client := range tt.clients {
				wait.Go(func() {
					answered := make(chan error, 1)
					requests := []Request{{takes(fmt.Sprint("a key of the client ", client), tt.ops),
						func(err error) { answered <- err }}}
					for n := client; n < b.N; n += tt.clients {
						send(requests)
						if err := <-answered; err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wait.Wait()
			b.ReportMetric(float64(b.N)*float64(tt.ops)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}
