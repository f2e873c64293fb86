package engine

import "bytes"

// An Alg is an algorithm by its number, which stands in logs and snapshots.
type Alg uint8

const (
	Token Alg = iota
	Leaky
	Fixed
	Slide
	Log
	Lease
	algs
)

// algorithms is the table of algorithms. Its index is the Alg: append only.
var algorithms = [algs]algorithm{
	Token: {name: "TOKEN", words: 2, limiter: bucket{}},
	Leaky: {name: "LEAKY", words: 2, limiter: bucket{}, holds: true},
	Fixed: {name: "FIXED", words: 2, limiter: fixed{}},
	Slide: {name: "SLIDE", words: 3, limiter: slide{}},
	Log:   {name: "LOG", words: 3, limiter: slidingLog{}, tail: slidingLog{}},
	Lease: {name: "LEASE", words: 2, limiter: lease{}, tail: lease{}},
}

type algorithm struct {
	name    string
	words   int // of the state that are kept
	limiter limiter
	tail    tail // nil if the words are all of the state
	// holds says that a permit given is to be used only when what was given
	// before has drained.
	holds bool
}

// String is the name of the algorithm in commands and replies: TOKEN, LEAKY, ...
func (a Alg) String() string { return algorithms[a].name }

// AlgByName finds an algorithm by its name, in either case.
func AlgByName(name []byte) (Alg, bool) {
	for i := range algorithms {
		if n := algorithms[i].name; len(name) == len(n) && bytes.EqualFold(name, []byte(n)) {
			return Alg(i), true
		}
	}
	return 0, false
}

// A rule is the arithmetic of an algorithm: how many permits of a key are used,
// and how that changes. How many may be taken, how long to wait and when a key is
// fully reset follow from these methods, the same way for all.
//
// The cell holds the key's parameters and state; now is never before the now of
// an earlier call for it. used and until change nothing.
type limiter interface {
	// used is how many permits the state uses at now, rounded up, at most maxUsed.
	used(c *cell, now Instant) int64
	// until is how long it takes from now, if nothing is taken, until at most
	// target permits are used, rounded up to a nanosecond. target is not negative.
	until(c *cell, now Instant, target int64) Span
	// take uses n permits more, n > 0, even if there are fewer left. The total stays
	// within two limits.
	take(c *cell, now Instant, n int64)
	// give unuses n permits, or all that are used if these are fewer.
	refund(c *cell, now Instant, n int64)
	// change puts the key under the parameters p of the same algorithm. The permits
	// used stay used, in the state or in the cell's past, also above a lower limit.
	migrate(c *cell, now Instant, p Params)
	// sound says whether a state read from outside is one that the algorithm could
	// have left at now or before. It need not look at a tail.
	valid(c *cell, now Instant) bool
}

// A tail is the part of an algorithm's state that grows, which a shard keeps
// outside of the record. The first word of the state says where it is, and differs
// between any two tails that have something in them.
type tail interface {
	// discard releases the tail.
	discard(c *cell)
	// changed is the number of the last change to the tail, by the count of all
	// tails of this algorithm in the shard.
	lastChange(c *cell) uint64
	// write appends what of the tail counts at now.
	write(dst []byte, c *cell, now Instant) []byte
	// read takes what write wrote at now off data; ok is false if it can't be that.
	// Unless c is nil it gets the tail, having none and the parameters p.
	read(data []byte, p *Params, now Instant, c *cell) (rest []byte, ok bool)
}

// state is what a key remembers beside its parameters, in words whose meaning is
// its algorithm's own. All zero is a key never seen.
type state [4]uint64

// A cell is a key while it is worked on.
type cell struct {
	state  state
	params Params
	past   past
	chunks *chunks // of the shard: where a sliding log keeps its entries
	leases *leases // of the shard: where the holders are kept
}

func (c *cell) alg() *algorithm { return c.params.alg() }

// rule is the arithmetic of the key as it is: a take or a change may end its past, or
// begin one.
func (c *cell) limiter() limiter {
	if c.past.isZero() {
		return c.alg().limiter
	}
	return limitersWithPast[c.params.Alg]
}

func (p *Params) alg() *algorithm { return &algorithms[p.Alg] }
