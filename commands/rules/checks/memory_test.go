package checks

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// TestShare decides random requests in pipelines of Checks that share a Memory, and one by one.
func TestShare(t *testing.T) {
	seed := testwait.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	const text = `
domain: api
rules:
  - {name: user, per: [user], limits: [20/minute, 40/day]}
  - {name: login, match: {path: /login}, per: [user], limits: [3/minute], penalty: {after: 2, within: 1m, block: 1s}}
  - {name: free, match: {path: /free}, limits: unlimited}
---
domain: plain
rules: [{name: user, per: [user], limits: [30/minute]}, {name: jobs, per: [job], limits: [2 at once ttl 3s]}]
---
domain: tree
descriptors: [{key: user, value_to_metric: true, rate_limit: {unit: minute, requests_per_unit: 4}}]
`
	pipes, alone := newBench(t, text), newBench(t, text)
	show := func(a *Answer, err error) string {
		if err != nil {
			return err.Error()
		}
		s := fmt.Sprintf("%s %d %d %v %v %v %v", a.text(), a.Binding, a.Descriptor, a.Rows, a.Boxes, a.Shared, a.Descriptors)
		for i := range a.Met {
			m := &a.Met[i]
			s += fmt.Sprintf(" %s %d %d %v", m.Named.Name, m.Descriptor, m.Guard, m.Mode)
		}
		for i := range a.Closed {
			s += fmt.Sprintf(" %s %d", a.Closed[i].Key, a.Closed[i].Millis)
		}
		return s
	}
	ask := func() *Request {
		q := request([]string{
			"plain user %d", "plain user %d", "plain user %d", "plain user %d", "plain job %d", "api user %d",
			"api user %d path /login", "api path /free", "api other %d",
			"tree user %d", "tree user %d AND user 9", "api user %d AND user %d", "none user %d",
		}[random.IntN(13)])
		for i := range q.Descriptors {
			for j := range q.Descriptors[i].Entries {
				if e := &q.Descriptors[i].Entries[j]; string(e.Value) == "%d" {
					e.Value = []byte{byte('0' + random.IntN(3))}
				}
			}
		}
		switch random.IntN(8) {
		case 0:
			q.Peek = true
		case 1:
			q.Settle = random.Int64N(5) - 2
		case 2:
			q.Hits = random.Int64N(4)
		case 3:
			q.Own = []int64{random.Int64N(3) - 1}
		case 4:
			q.ID = []byte{byte('a' + random.IntN(3))}
		}
		return q
	}
	var m Memory
	for range 3000 {
		var (
			batch engine.Batch
			list  = make([]Check, 1+random.IntN(6))
			qs    = make([]*Request, len(list))
			ends  = make([]int, len(list))
			errs  = make([]error, len(list))
		)
		for i := range list {
			list[i].Share(&m)
			qs[i] = ask()
			errs[i] = list[i].Append(&batch, pipes.state, pipes.Now, qs[i])
			ends[i] = len(batch.Ops)
		}
		pipes.engine.Apply(pipes.Now, &batch)
		from := 0
		for i := range list {
			var a *Answer
			if errs[i] == nil {
				a, errs[i] = list[i].Answer(batch.Ops[from:ends[i]], batch.Decisions[from:ends[i]])
			}
			from = ends[i]
			if got, want := show(a, errs[i]), show(alone.Ask(qs[i])); got != want {
				t.Fatalf("seed %d: request %d of %d: %+v\n got %s\nwant %s", seed, i, len(list), qs[i], got, want)
			}
		}
		m.Release()
		pipes.Now += engine.Instant(random.Int64N(1e9))
		alone.Now = pipes.Now
	}
	for i := range pipes.state.Set.NumLimits() {
		if got, want := pipes.state.Counts(i), alone.state.Counts(i); got != want {
			t.Errorf("seed %d: limit %d: counted %v, want %v", seed, i, got, want)
		}
	}
}
