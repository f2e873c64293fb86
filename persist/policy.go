package persist

import "fmt"

// A Policy says when what is appended to a log is put on disk.
type Policy uint8

const (
	// EverySecond syncs in the background once a second: a power cut loses at most
	// the last second and what takes the disk longer; the end of the process nothing.
	EverySecond Policy = iota
	// Always syncs before an Append returns: what is answered is on disk.
	Always
	// Never leaves it to the operating system, but for segments that are full.
	Never
)

// policies are the names of the policies, by Policy: those of Redis.
var policies = [...]string{EverySecond: "everysec", Always: "always", Never: "no"}

// String is the name of the policy: always, everysec or no.
func (p Policy) String() string { return policies[p] }

// ParsePolicy finds a policy by its name.
func ParsePolicy(name string) (Policy, error) {
	for i, n := range policies {
		if n == name {
			return Policy(i), nil
		}
	}
	return 0, fmt.Errorf("fsync policy %q is none of always, everysec, no", name)
}

// MarshalText writes the name.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a name.
func (p *Policy) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePolicy(string(text))
	return err
}
