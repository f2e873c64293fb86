package persist

import (
	"fmt"
	"slices"
)

// A Policy determines when appended entries are put on disk.
type Policy uint8

const (
	// EverySecond syncs in the background once a second: a power failure loses at most
	// the last second and the duration of a sync; the end of the process loses nothing.
	EverySecond Policy = iota
	// Always syncs before Append returns: every answered decision is on disk.
	Always
	// Never leaves syncing to the operating system, except for full segments.
	Never
)

// policies holds the names of the policies, by Policy. Redis has the same names.
var policies = [...]string{EverySecond: "everysec", Always: "always", Never: "no"}

// String returns the name of the policy: always, everysec or no.
func (p Policy) String() string { return policies[p] }

// MarshalText returns the name.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses a name.
func (p *Policy) UnmarshalText(text []byte) error {
	i := slices.Index(policies[:], string(text))
	if i < 0 {
		return fmt.Errorf("fsync policy %q must be always, everysec or no", text)
	}
	*p = Policy(i)
	return nil
}
