package commit

import (
	"fmt"
	"testing"

	"limitsrv/engine"
)

// fill takes from new keys, n in all, a hundred at a time, and returns how many were
// granted.
func (p *pipeline) fill(prefix string, n int) (granted int) {
	for from := 0; from < n; from += 100 {
		var ops []engine.Op
		for i := range 100 {
			ops = append(ops, take(fmt.Sprintf("%s:%020d", prefix, from+i), 1))
		}
		for _, d := range p.commit(ops...) {
			if d.Status == engine.OK && d.Allowed == 1 {
				granted++
			}
		}
	}
	return granted
}

const testBound = 1 << 20

// checkMemory fails if the engine uses more than the bound, except for a few groups.
func (p *pipeline) checkMemory() {
	p.t.Helper()
	if used := p.e.MemoryBytes(); used > testBound*9/8 || used < testBound*3/4 {
		p.t.Errorf("%d bytes are used, want about %d", used, testBound)
	}
}

func TestFullRefusesNewKeys(t *testing.T) {
	p := newPipeline(t)
	p.bound.MaxBytes = testBound
	granted := p.fill("a", 40_000)
	p.checkMemory()
	if got := p.e.Len(); int64(granted) != got || granted == 40_000 {
		t.Errorf("%d of 40000 keys were granted, and %d exist", granted, got)
	}
	if d := p.commit(take("one more", 1), take(fmt.Sprintf("a:%020d", 0), 1)); d[0].Status != engine.NoMemory ||
		d[1].Remaining != 18 {
		t.Errorf("a new key is answered %+v, an existing one %+v", d[0], d[1])
	}
	p.checkReplay()
	p.now += 61 * second
	if again := p.fill("b", 10_000); again != 10_000 {
		t.Errorf("when all keys have expired, %d of 10000 are granted", again)
	}
	p.checkReplay()
}

func TestEvictionsAreLogged(t *testing.T) {
	p := newPipeline(t)
	p.bound = engine.Bound{MaxBytes: testBound, Evict: true}
	if granted := p.fill("a", 40_000); granted != 40_000 {
		t.Errorf("%d of 40000 keys were granted", granted)
	}
	p.checkMemory()
	p.checkReplay()
	p.bound.MaxBytes = testBound / 2
	p.fill("b", 1000)
	if used := p.e.MemoryBytes(); used > testBound/2+128<<10 {
		t.Errorf("%d bytes are used under a lower bound of %d", used, testBound/2)
	}
	p.checkReplay()
}

// TestEvictedAreCounted compares the evictions of a group with the keys that are gone.
func TestEvictedAreCounted(t *testing.T) {
	p := newPipeline(t)
	p.fill("a", 5000)
	p.bound = engine.Bound{MaxBytes: 1, Evict: true}
	p.queue.Add(&testRequest{batch: &engine.Batch{Ops: []engine.Op{take("b", 1)}}})
	before := p.e.Len()
	g := p.build()
	for b := range g.Batches {
		p.e.Apply(g.Stamp, b)
	}
	if got, want := p.e.Stats().Evicted, before+1-p.e.Len(); got != want || got == 0 {
		t.Errorf("%d evictions, want %d", got, want)
	}
}
