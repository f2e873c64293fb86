package engine_test

import (
	"sync"
	"testing"

	"limitsrv/engine"
)

// TestMoments sets the moments of batches at equal and at different times, from two
// goroutines at once: no moment occurs twice.
func TestMoments(t *testing.T) {
	var (
		e    = engine.New(engine.Options{})
		mu   sync.Mutex
		told = map[int64]bool{}
		wait sync.WaitGroup
	)
	for range 2 {
		wait.Go(func() {
			var b engine.Batch
			for i := range 1000 {
				b.Reset()
				now := engine.Instant(1e15 + i/10*7000)
				for range i % 20 {
					b.AddCall(0).Timed = true
					b.AddCall(0)
				}
				e.SetMoments(now, &b)
				mu.Lock()
				for j := range b.Calls {
					c := &b.Calls[j]
					at := int64(now)/1000 + int64(c.Micros)
					if c.Timed && told[at] || !c.Timed && c.Micros != 0 {
						t.Errorf("call %d of batch %d is told %d", j, i, at)
					}
					told[at] = told[at] || c.Timed
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
}

// TestMomentsStayNear sets the moments of many more calls than microseconds pass.
func TestMomentsStayNear(t *testing.T) {
	e := engine.New(engine.Options{})
	var b engine.Batch
	for range 1000 {
		b.AddCall(0).Timed = true
	}
	for range 2000 {
		e.SetMoments(5e9, &b)
	}
	if got := b.Calls[999].Micros; got != engine.MaxMicros {
		t.Errorf("the last call is told %d microseconds more than its batch, want %d", got, engine.MaxMicros)
	}
	e.SetMoments(5e9+engine.Instant(engine.MaxMicros+1)*1000, &b)
	if b.Calls[0].Micros != 0 {
		t.Errorf("%d microseconds later the first is told %d more", engine.MaxMicros+1, b.Calls[0].Micros)
	}
}

// TestMomentsAfterSnapshot: an engine that continues from a snapshot at the same time, because
// the clock was set back, tells later moments.
func TestMomentsAfterSnapshot(t *testing.T) {
	e, next := engine.New(engine.Options{}), engine.New(engine.Options{})
	var b engine.Batch
	for range 30 {
		b.AddCall(0).Timed = true
	}
	e.SetMoments(5e9, &b)
	last := b.Calls[29].Micros
	view := e.Freeze()
	defer view.Close()
	next.SetTold(view.Told())
	next.SetMoments(5e9, &b)
	if got := b.Calls[0].Micros; got != last+1 {
		t.Errorf("the first call is told %d microseconds more than its batch, want %d", got, last+1)
	}
}

// TestMomentsOfKinds sets the moments of a batch with a call of each kind, twice: calls that get a
// number get another number the second time.
func TestMomentsOfKinds(t *testing.T) {
	for _, tt := range []struct {
		call engine.Call
		gets [3]bool // at level 0, the newest, at level 1 and at level 2
	}{
		{engine.Call{}, [3]bool{}},
		{engine.Call{ReadOnly: true}, [3]bool{}},
		{engine.Call{Timed: true}, [3]bool{true, true, true}},
		{engine.Call{Timed: true, ReadOnly: true}, [3]bool{true, false, true}},
		{engine.Call{Draws: true}, [3]bool{true, false, true}},
		{engine.Call{Draws: true, ReadOnly: true}, [3]bool{true, false, true}},
	} {
		for level, want := range tt.gets {
			e := engine.New(engine.Options{})
			b := engine.Batch{Level: uint8(level), Calls: []engine.Call{tt.call, tt.call}}
			for range 2 {
				e.SetMoments(5e9, &b)
			}
			moments := [2]uint32{2, 3}
			if !want {
				moments = [2]uint32{}
			}
			if got := [2]uint32{b.Calls[0].Micros, b.Calls[1].Micros}; got != moments {
				t.Errorf("%+v at level %d: moments %d, want %d", tt.call, level, got, moments)
			}
		}
	}
}
