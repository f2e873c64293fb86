package engine

import "testing"

// Each algorithm of limits has permits that are either numbers or leases, and the records
// with numbers have methods for keys with a past, too. Boxes and plain values have neither.
func TestEachAlgorithmHasItsMethods(t *testing.T) {
	for i := range algorithms {
		a := &algorithms[i]
		if !Alg(i).IsKnown() {
			continue
		}
		limit := !Alg(i).IsPlain() && Alg(i) != Box
		if a.meter == nil || limit != ((a.limiter == nil) != (a.lessor == nil)) ||
			(a.limiter == nil) != (a.changed.limiter == nil) {
			t.Errorf("%s: methods %T, with a past %T", a.name, a.methods, a.changed)
		}
		if limit && ((a.tail == nil) != (a.copied == nil) || (a.tail == nil) != (a.growth == nil)) {
			t.Errorf("%s: tail %T, copied %T, growth %T; want all or none", a.name, a.tail, a.copied, a.growth)
		}
		if n := a.words; n < 1 || n > len(state{}) {
			t.Errorf("%s: %d words, want 1 to %d", a.name, n, len(state{}))
		}
	}
}
