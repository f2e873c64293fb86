package pace

import (
	"testing"
	"time"
)

// TestStepYields: other goroutines run when a slice has passed, and not before.
func TestStepYields(t *testing.T) {
	var p Pace
	yields := func() bool {
		before := p.began
		for range stepsPerLook {
			p.Step()
		}
		return p.began != before
	}
	if !yields() {
		t.Error("others do not run at first")
	}
	if p.began = time.Now().Add(time.Hour); yields() {
		t.Error("others run before a slice has passed")
	}
	if p.began = time.Now().Add(-slice); !yields() {
		t.Error("others do not run when a slice has passed")
	}
}
