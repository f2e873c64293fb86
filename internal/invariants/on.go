//go:build race || invariants

package invariants

// Enabled reports whether this binary contains the checks.
const Enabled = true

// A Sample selects some of the events that it counts, for checks that cost much more than the
// event. The zero value is ready to use. Concurrency: not safe for concurrent use.
type Sample struct{ events uint32 }

// samplePeriod is the distance of the selected events after the first samplePeriod of them.
const samplePeriod = 1024

// Next counts an event and reports whether it is selected: the events 1, 2, 4 and so on up to
// samplePeriod, and then each multiple of samplePeriod.
func (s *Sample) Next() bool {
	s.events++
	return s.events%samplePeriod == 0 || s.events < samplePeriod && s.events&(s.events-1) == 0
}
