package replication

import (
	"os"
	"runtime"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// TestMain has goroutines run one at a time under the race detector. In Go 1.26 all threads that
// run timers of a bubble of testing/synctest share a context of the detector, which is made for
// one thread: it crashes if they do so at once, as several simulated nodes do. The detector finds
// races by the order of events, without threads at once.
func TestMain(m *testing.M) {
	if testwait.RaceDetector {
		runtime.GOMAXPROCS(1)
	}
	os.Exit(m.Run())
}
