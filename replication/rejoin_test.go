package replication

import (
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"limitsrv/engine"
)

// faulty are counters that add a wrong number, or answer a wrong number, while wrong is
// set. That is no part of the state.
type faulty struct {
	counters
	answers bool
	wrong   *atomic.Bool
}

func (f faulty) Do(tx *engine.Tx, c *engine.Call) {
	f.counters.Do(tx, c)
	switch {
	case !f.wrong.Load():
	case f.answers:
		c.Answer = append(c.Answer, '0')
	default:
		e, _ := tx.Find(c.Args[0])
		n, _ := tx.Int(e)
		tx.PutInt(e, n+1000, 0)
	}
}

// TestDivergedNodesRejoin: one node applies a call in another way than the other nodes. The
// followers that differ from the leader notice, and get its state under new ids.
func TestDivergedNodesRejoin(t *testing.T) {
	for _, tt := range []struct {
		name          string
		leads, answer bool // the faulty node leads; it gives a wrong answer, and writes nothing wrong
		rejoin        int
	}{
		{"a follower writes something else", false, false, 1},
		{"a follower answers something else", false, true, 1},
		{"the leader writes something else", true, false, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wrong := map[string]*atomic.Bool{}
			c := startCluster(t, 3, func(o *Options) {
				wrong[o.Raft] = new(atomic.Bool)
				o.Commands, o.ElectionTimeout = faulty{answers: tt.answer, wrong: wrong[o.Raft]}, noElection()
			})
			leader := c.leader()
			c.awaitLevel()
			ids := map[*Node]string{}
			var one *Node
			for _, n := range c.nodes {
				ids[n] = n.identity().Node
				if (n == leader) == tt.leads {
					one = n
				}
			}
			if _, err := count(leader, 0, "before"); err != nil {
				t.Fatal(err)
			}
			c.waitForAgreement()
			wrong[one.o.Raft].Store(true)
			if _, err := count(leader, 0, "k"); err != nil {
				t.Fatal(err)
			}
			index, _ := leader.Digest()
			eventually(t, "all have applied it", func() bool {
				return !slices.ContainsFunc(c.nodes, func(n *Node) bool { got, _ := n.Digest(); return got < index })
			})
			wrong[one.o.Raft].Store(false)
			for range 3 {
				if _, err := count(leader, 0, "after"); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, "those that differ from the leader join again", func() bool {
				joined := 0
				for _, n := range c.nodes {
					if n.identity().Node != ids[n] && n.isMember() {
						joined++
					}
				}
				return joined == tt.rejoin
			})
			c.waitForAgreement()
			for _, n := range c.nodes {
				if (n.counts.diverged.Load() == 1) != (n.identity().Node != ids[n]) || n.member().Diverged > 0 {
					t.Errorf("a node joined again %v, diverged %d times, and its membership has diverged at entry %d",
						n.identity().Node != ids[n], n.counts.diverged.Load(), n.member().Diverged)
				}
				eventually(t, "the node serves", func() bool {
					got, err := count(n, 0, "after")
					return err == nil && got != strconv.Itoa(3)
				})
			}
			c.waitForAgreement()
		})
	}
}
