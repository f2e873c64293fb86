package engine

// An Alg is an algorithm by its number, which stands in logs and snapshots.
type Alg uint8

const (
	Token Alg = iota
	Leaky
	Fixed
	Slide
	Log
	Lease
)

// String is the name of the algorithm in commands and replies: TOKEN, LEAKY, ...
func (a Alg) String() string { return algorithms[a].name }

// AlgByName finds an algorithm by its name, in either case.
func AlgByName(name []byte) (Alg, bool) { panic("seam") }
