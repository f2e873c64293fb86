//go:build !race && !invariants

package invariants

// Enabled reports whether this binary contains the checks.
const Enabled = false

// A Sample selects some of the events that it counts. In this binary it selects no event and has no
// size.
type Sample struct{}

// Next reports false.
func (*Sample) Next() bool { return false }
