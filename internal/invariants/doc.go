// Package invariants has checks of our own code that only test binaries contain: those built with
// -race, or with the tag invariants. A check guards places where an error would stay silent and
// would corrupt the state.
//
//	if invariants.Enabled && last >= first {
//		invariants.Violated("entry %d follows entry %d", first, last)
//	}
//
// Without -race and the tag, Enabled is the constant false, and the compiler removes the check. It
// imports only the standard library.
package invariants

import "fmt"

// Violated panics with the found and the expected values. Use it only if
// Enabled.
func Violated(format string, args ...any) {
	panic("invariant violated: " + fmt.Sprintf(format, args...))
}
