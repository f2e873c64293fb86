package replication

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"limitsrv/engine"
)

// BenchmarkCluster decides on three nodes of this process: connections submit one batch at
// a time, for keys out of a million, to the leader or another node. It reports the time per
// decision.
func BenchmarkCluster(b *testing.B) {
	for _, at := range []string{"leader", "follower"} {
		for _, load := range []struct{ connections, batch int }{{16, 32}, {50, 1}} {
			b.Run(fmt.Sprintf("at=%s/connections=%d/batch=%d", at, load.connections, load.batch), func(b *testing.B) {
				c := startCluster(b, 3, nil)
				node := c.leader()
				if at == "follower" {
					node = c.other(node)
				}
				b.ReportAllocs()
				b.ResetTimer()
				var left atomic.Int64
				left.Store(int64(b.N))
				var wait sync.WaitGroup
				for i := range load.connections {
					wait.Go(func() {
						rng := rand.New(rand.NewPCG(uint64(i), 1))
						batch, answered := new(engine.Batch), make(chan error, 1)
						for left.Add(-int64(load.batch)) > -int64(load.batch) {
							fill(batch, load.batch, rng)
							node.Exec(batch, func(err error) { answered <- err })
							node.Commit()
							if err := <-answered; err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wait.Wait()
			})
		}
	}
}

// other returns a node that is not the given node.
func (c *testCluster) other(than *Node) *Node {
	for _, n := range c.nodes {
		if n != than {
			return n
		}
	}
	return nil
}

// fill adds takes to a batch.
func fill(b *engine.Batch, ops int, rng *rand.Rand) {
	b.Reset()
	for range ops {
		b.Ops = append(b.Ops, engine.Op{
			Kind: engine.Take, N: 1, Key: fmt.Appendf(nil, "api:user:%07d", rng.IntN(1_000_000)),
			Params: engine.Params{Alg: engine.Token, Limit: 100, Count: 1, Period: 100_000_000},
		})
	}
}
