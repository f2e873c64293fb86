package engine

import "bytes"

// An Alg is the number of an algorithm. It is stored in logs and snapshots.
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
	words   int // words of state in a record
	limiter limiter
	tail    tail // nil if the words hold all of the state
	// holds is set if a granted permit must be used only after all permits granted before
	// it have drained.
	holds bool
}

// String returns the name of the algorithm in commands and replies: TOKEN, LEAKY, ...
func (a Alg) String() string { return algorithms[a].name }

// AlgByName returns the algorithm with a name, in either case.
func AlgByName(name []byte) (Alg, bool) {
	for i := range algorithms {
		if n := algorithms[i].name; len(name) == len(n) && bytes.EqualFold(name, []byte(n)) {
			return Alg(i), true
		}
	}
	return 0, false
}

// A limiter is the arithmetic of an algorithm: the number of permits of a key in use, and
// its changes. The permits left, the waiting time and the time of the full reset follow
// from these methods, in the same way for all algorithms.
//
// The cell holds the key's parameters and state. Requires: now is not before the now of
// an earlier call for the key. used and until change nothing.
type limiter interface {
	// used returns the permits in use at now, rounded up, at most maxUsed.
	used(c *cell, now Instant) int64
	// until returns the time from now until at most target permits are in use if none are
	// taken, rounded up to a nanosecond. Requires: target >= 0.
	until(c *cell, now Instant, target int64) Span
	// take uses n more permits, n > 0, even if fewer are left. Requires: the total stays
	// within two limits.
	take(c *cell, now Instant, n int64)
	// refund returns n permits, or all that are in use if these are fewer.
	refund(c *cell, now Instant, n int64)
	// migrate puts the key under the parameters p of the same algorithm. Permits in use
	// stay in use, in the state or in the cell's past, also above a lower limit.
	migrate(c *cell, now Instant, p Params)
	// valid reports whether the algorithm could have left a state read from outside at
	// now or before. It need not check a tail.
	valid(c *cell, now Instant) bool
}

// A tail is the part of an algorithm's state that grows, which a shard keeps outside of
// the record. The first word of the state locates it, and differs between any two tails
// that are not empty.
type tail interface {
	// discard releases the tail.
	discard(c *cell)
	// lastChange returns the number of the last change to the tail, by the count of
	// changes to all tails of this algorithm in the shard.
	lastChange(c *cell) uint64
	// write appends the part of the tail that counts at now.
	write(dst []byte, c *cell, now Instant) []byte
	// read takes the output of a write at now off data. ok is false if data can not be
	// such output. Unless c is nil it receives the tail; c must have none and the
	// parameters p.
	read(data []byte, p *Params, now Instant, c *cell) (rest []byte, ok bool)
}

// state is the memory of a key besides its parameters, in words with a meaning that its
// algorithm defines. All zero is a key never seen.
type state [4]uint64

// A cell is a key in memory while an op is applied to it.
type cell struct {
	state  state
	params Params
	past   past
	chunks *chunks // of the shard: the entries of sliding logs
	leases *leases // of the shard: the holders
}

func (c *cell) alg() *algorithm { return c.params.alg() }

// limiter returns the arithmetic for the key in its current state: a take or a migrate
// may begin or end its past.
func (c *cell) limiter() limiter {
	if c.past.isZero() {
		return c.alg().limiter
	}
	return limitersWithPast[c.params.Alg]
}

func (p *Params) alg() *algorithm { return &algorithms[p.Alg] }
