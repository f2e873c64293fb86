package testwait

import "testing"

// RaceDetector reports whether the race detector is on.
const RaceDetector = raceDetector

// Slowdown divides the amount of work of long tests: it is above 1 under the race
// detector, which makes sequential code about ten times slower, and under -short.
func Slowdown() int {
	if RaceDetector || testing.Short() {
		return 8
	}
	return 1
}

// Long skips a long test under -short, which make quick gives.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: -short leaves it out")
	}
}

// Sequential skips a long test of code without goroutines under the race detector, which
// finds nothing in it. The unit check of the Makefile runs these tests without the
// detector. The call must be the first statement of a test, as internal/lint checks.
func Sequential(t testing.TB) {
	t.Helper()
	Long(t)
	if RaceDetector {
		t.Skip("sequential: it is run without the race detector")
	}
}
