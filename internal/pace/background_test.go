package pace

import (
	"runtime"
	"sync"
	"testing"
)

// TestBackground: the computation is done at the return, and has a processor more.
func TestBackground(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			seen := 0
			Background(func() { seen = runtime.GOMAXPROCS(0) })
			if seen <= before {
				t.Errorf("%d processors, want more than %d", seen, before)
			}
		})
	}
	calls.Wait()
	if after := runtime.GOMAXPROCS(0); after != before {
		t.Errorf("%d processors afterwards, want %d", after, before)
	}
}

// TestBackgroundPanic: a panic is the caller's, and gives the processor back.
func TestBackgroundPanic(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer func() {
		if p := recover(); p != "broken" {
			t.Errorf("panic %v, want broken", p)
		}
		if after := runtime.GOMAXPROCS(0); after != before {
			t.Errorf("%d processors afterwards, want %d", after, before)
		}
	}()
	Background(func() { panic("broken") })
	t.Error("no panic")
}

// TestAddProcessorsIsUndone: users that overlap remove their processors in any order.
func TestAddProcessorsIsUndone(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	first := AddProcessors(2)
	second := AddProcessors(3)
	first()
	if n := runtime.GOMAXPROCS(0); n != before+3 {
		t.Errorf("%d processors, want %d", n, before+3)
	}
	second()
	if n := runtime.GOMAXPROCS(0); n != before {
		t.Errorf("%d processors at the end, want %d", n, before)
	}
}
