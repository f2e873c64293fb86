package testwait

import "testing"

// Sequential skips a long test of code without goroutines under the race detector, which
// finds nothing in it and makes it some ten times longer. The unit check of the Makefile
// runs these tests without the detector. The call is the first statement of a test.
func Sequential(t testing.TB) {
	t.Helper()
	if raceDetector {
		t.Skip("sequential: it is run without the race detector")
	}
}
