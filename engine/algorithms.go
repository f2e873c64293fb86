package engine

import (
	"bytes"

	"limitsrv/engine/values"
)

// An Alg is the number of an algorithm. It is stored in logs and snapshots.
type Alg uint8

// The algorithms of limits, with records in algorithms.
const (
	Token Alg = iota
	Leaky
	Fixed
	Slide
	Log
	Lease
	Box
	limits // number of algorithms of limits
)

// The rows of plain values, after numbers for more algorithms of limits. All are below
// dbFlag.
const (
	Int Alg = 32 + iota
	Text8
	Text16
	Text24
	Blob
	Hash
	List
	Set
	SortedSet
	IDReceipt // see Receipt
	IDRecord  // see Tx.Record
	algs

	firstPlain = Int
)

// algorithms is the table of algorithms and rows. Its index is the Alg: append only. A new
// algorithm is a file with its methods, a number above, and a record here.
var algorithms = [algs]algorithm{
	Token: {
		name: "TOKEN", words: 2, methods: counted(bucket{}), changed: counted(pastBucket{}),
		usage: Usage{
			Limit: "capacity", MaxLimit: MaxLimit, Period: Rate, Complexity: "O(1)", Since: "0.1.0",
			Summary: "Takes n tokens from a token bucket, which starts full at capacity and refills continuously at rate: " +
				"bursts up to capacity, rate in the long run. The choice for most limits.",
			Title: "token bucket", Form: "{tokens}, refilled at {rate}",
		},
	},
	Leaky: {
		name: "LEAKY", words: 2, methods: counted(bucket{}), changed: counted(pastBucket{}), holds: true,
		usage: Usage{
			Limit: "capacity", MaxLimit: MaxLimit, Period: Rate, Complexity: "O(1)", Since: "0.1.0",
			Summary: "Puts n requests into a queue of depth capacity that drains at rate, and returns how long to delay them " +
				"(wait_ms) so that they leave at an even rate. A full queue denies.",
			Title: "leaky bucket", Form: "a queue of {limit}, drained at {rate}",
		},
	},
	Fixed: {
		name: "FIXED", words: 2, methods: counted(fixed{}), changed: counted(carried{limiter: fixed{}, debts: true}),
		usage: Usage{
			Limit: "limit", MaxLimit: MaxLimit, Period: CalendarWindow, Complexity: "O(1)", Since: "0.1.0",
			Summary: "Counts n tokens against limit in windows aligned to the Unix epoch in UTC; window may also be minute, " +
				"hour, day, week " +
				"(from Monday), month or year. Easy to explain and made for quotas, but allows up to twice the limit around " +
				"the boundary of two windows.",
			Title: "fixed window", Form: "{tokens} in each {period}",
		},
	},
	Slide: {
		name: "SLIDE", words: 3, methods: counted(slide{}), changed: counted(carried{limiter: slide{}}),
		usage: Usage{
			Limit: "limit", MaxLimit: MaxLimit, Period: Window, Complexity: "O(1)", Since: "0.1.0",
			Summary: "Counts n tokens against limit in the current window plus the part of the previous one that a window " +
				"ending " +
				"now covers. No burst at the boundary, two counters; assumes that the requests of the previous window were " +
				"evenly spread.",
			Title: "sliding window", Form: "about {tokens} in any {window}",
		},
	},
	Log: {
		name: "LOG", words: 3, methods: counted(slidingLog{}), changed: counted(carried{limiter: slidingLog{}}),
		tail: slidingLog{}, copied: slidingLog{}, growth: slidingLog{}, chunked: true,
		usage: Usage{
			Limit: "limit", MaxLimit: MaxListed, Period: Window, Complexity: "O(min(limit, admitted))", Since: "0.1.0",
			Summary: "Takes n tokens if no window of that length, at any start, would contain more than limit. Exact; " +
				"stores one entry for each allowed request. limit is at most 1000000.",
			Title: "sliding log", Form: "never more than {tokens} in any {window}",
		},
	},
	Lease: {
		name: "LEASE", words: 2, methods: leased(lease{}), tail: lease{}, copied: lease{}, growth: lease{},
		usage: Usage{
			Limit: "limit", MaxLimit: MaxListed, Period: TTL,
			Title: "concurrency", Form: "{limit} at a time, each for at most {window}",
		},
	},
	Box: {
		name: "PENALTY", words: 3, methods: methods{meter: box{}},
		usage: Usage{
			Limit: "after", MaxLimit: MaxListed, Period: Times,
			Title: "penalty box", Form: "blocks after {denials}",
		},
	},
	Int:       {name: typeString, words: 2, methods: methods{meter: plain{}}},
	Text8:     {name: typeString, words: 2, methods: methods{meter: text{}}},
	Text16:    {name: typeString, words: 3, methods: methods{meter: text{}}},
	Text24:    {name: typeString, words: 4, methods: methods{meter: text{}}},
	Blob:      {name: typeString, words: 4, methods: methods{meter: plain{}}, tail: blob{}},
	Hash:      {name: "HASH", words: 4, methods: methods{meter: plain{}}, tail: collection{kind: values.KindHash}},
	List:      {name: "LIST", words: 4, methods: methods{meter: plain{}}, tail: collection{kind: values.KindList}},
	Set:       {name: "SET", words: 4, methods: methods{meter: plain{}}, tail: collection{kind: values.KindSet}},
	SortedSet: {name: "ZSET", words: 4, methods: methods{meter: plain{}}, tail: collection{kind: values.KindSortedSet}},
	IDReceipt: {name: "RESERVATION", words: 4, methods: methods{meter: receipt{}}},
	IDRecord:  {name: "RESERVATION", words: 4, methods: methods{meter: plain{}}, tail: record{}},
}

// An algorithm is the record of an algorithm: all that depends on its number.
type algorithm struct {
	methods
	changed methods // of a key with a past; zero if no key has a past
	tail    tail    // nil if the words hold all of the state
	copied  copied  // the tail if a Snapshot must copy it before a change; nil: values do
	growth  growing // of the tail; nil if ops do not let it grow
	words   int     // words of state in a record
	// chunked is set if the first word of the state is the first and the last chunk of the
	// tail, as in logState.
	chunked bool
	holds   bool // see Holds
	name    string
	usage   Usage
}

// methods are the arithmetic of an algorithm: a value that is a meter, and also a limiter,
// a lessor, or neither.
type methods struct {
	meter   meter
	limiter limiter // nil if permits are no numbers
	lessor  lessor  // nil if permits are no leases
}

func counted(l limiter) methods { return methods{meter: l, limiter: l} }

func leased(l lessor) methods { return methods{meter: l, lessor: l} }

// String returns the name of the algorithm in commands and replies: TOKEN, LEAKY, ... Of a
// plain value it is the type in Redis: several rows share a type.
func (a Alg) String() string { return algorithms[a].name }

// AlgByName returns the algorithm with a name, in either case.
func AlgByName(name []byte) (Alg, bool) {
	for i := range limits {
		if n := algorithms[i].name; len(name) == len(n) && bytes.EqualFold(name, []byte(n)) {
			return Alg(i), true
		}
	}
	return 0, false
}

// A meter tells the number of permits of a key in use. The permits left, the waiting time
// and the time of the full reset follow from it, in the same way for all algorithms.
//
// The cell holds the key's parameters and state. Requires: now is not before the now of
// an earlier call for the key. used and until change nothing.
type meter interface {
	// used returns the permits in use at now, rounded up, at most maxUsed.
	used(c *cell, now Instant) int64
	// until returns the time from now until at most target permits are in use if no permits
	// are taken, rounded up to a nanosecond. Requires: target >= 0.
	until(c *cell, now Instant, target int64) Span
	// migrate puts the key under the parameters p of the same algorithm. Permits in use
	// stay in use, in the state or in the cell's past, also above a lower limit.
	migrate(c *cell, now Instant, p Params)
	// valid reports whether the algorithm could have left a state, and a past, read from
	// outside at now or before. It need not check a tail.
	valid(c *cell, now Instant) bool
}

// A limiter is a meter of permits that are numbers.
type limiter interface {
	meter
	// take uses n more permits, n > 0, even if fewer are left. Requires: the total stays
	// within two limits.
	take(c *cell, now Instant, n int64)
	// giveBack returns up to n permits that were taken at since or later. If since is unaged, it
	// returns permits of the current window; a bucket counts them as taken just now. Afterwards
	// the key must at no time have fewer permits in use than if these had never been taken. It
	// reports whether it returned any.
	giveBack(c *cell, now, since Instant, n int64) bool
	// refund is giveBack for an op without the mode Fit: it returns n permits or, if fewer are in
	// use, all of these, no matter when they were taken.
	refund(c *cell, now Instant, n int64)
}

// A lessor is a meter of permits that are leases, each of a holder.
type lessor interface {
	meter
	// holds reports whether the holder has a lease at now.
	holds(c *cell, now Instant, id holderID) bool
	// acquire gives the holder a lease until end, or moves the end of the lease it has.
	acquire(c *cell, now Instant, id holderID, end Instant)
	// release removes the holder's lease and reports whether it had a lease at now.
	release(c *cell, now Instant, id holderID) bool
}

// A tail is the part of an algorithm's state that grows, which a shard keeps outside of
// the record.
type tail interface {
	// discard releases the tail.
	discard(c *cell)
	// print returns the words of a fingerprint: they change whenever the state does.
	print(c *cell) state
	// bytes returns the memory of the tail.
	bytes(c *cell) int64
	// write appends the part of the tail that counts at now.
	write(dst []byte, c *cell, now Instant) []byte
	// read takes the output of a write at now off data, for a cell with parameters and
	// without a tail, which receives the tail unless it is detached. ok is false if data
	// can not be such output.
	read(data []byte, now Instant, c *cell) (rest []byte, ok bool)
}

// A copied is a tail that changes in place.
type copied interface {
	// location returns the word of the state that locates the tail. It differs between any
	// two tails that are not empty.
	location(c *cell) uint64
	// lastChange returns the number of the last change to the tail, by the count that
	// changes returns.
	lastChange(c *cell) uint64
	// changes returns the number of changes so far to all tails of this kind in the table of the
	// cell.
	changes(c *cell) uint64
}

// growing tells how much a tail grows by an op.
type growing interface {
	// growth returns the bytes of memory that another lease, or taking n at now, may add,
	// and maxGrowth the most that it may be.
	growth(c *cell, now Instant, n int64) int
	maxGrowth() int
}

// state is the memory of a key besides its parameters, in words with a meaning that its
// algorithm defines. All zero is a key never seen.
type state [4]uint64

// wordBytes is the length of a word of a state.
const wordBytes = 8

// A cell is a key in memory while an op is applied to it.
type cell struct {
	state    state
	params   Params
	past     past
	holds    holdList      // if the past says that the key has one
	chunks   *chunks       // of the shard: the entries of sliding logs
	leases   *leases       // of the shard: the holders
	holdings *holds        // of the shard
	values   *values.Store // of the shard: contents of plain values
}

// detached reports whether the cell belongs to no shard, so that it can not have a tail.
func (c *cell) detached() bool { return c.chunks == nil }

func (c *cell) alg() *algorithm { return c.params.alg() }

// meter returns the meter of the key in its current state: a take or a migrate may begin
// or end its past.
func (c *cell) meter() meter {
	if c.past.isZero() {
		return c.alg().meter
	}
	return c.pastMethods().meter
}

// limiter returns the same value as a limiter.
func (c *cell) limiter() limiter {
	if c.past.isZero() {
		return c.alg().limiter
	}
	return c.pastMethods().limiter
}

// pastMethods returns the methods of a key with a past.
func (c *cell) pastMethods() *methods {
	if c.past.held != 0 {
		return &holdingMethods
	}
	return &c.alg().changed
}

func (p *Params) alg() *algorithm { return &algorithms[p.Alg] }
