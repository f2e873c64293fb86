package commands

import (
	"strconv"

	"limitsrv/engine"
)

// The limiter commands of other systems are token buckets here. Each earns one
// permit per emission interval, which is computed as the original computes it.
// Replies and errors are those of the original, but where the original
// overflows, crashes, lets through too much, or names a wait at whose end the
// request is refused again.

// bucketOp is a Take of n from a bucket of limit permits, one earned per interval ns.
func bucketOp(key []byte, limit, interval, n int64) engine.Op {
	return engine.Op{
		Kind: engine.Take, Key: key, N: n,
		Params: engine.Params{Alg: engine.Token, Limit: limit, Count: 1, Period: interval},
	}
}

// emissionInterval is period seconds / count in nanoseconds, cut, computed in
// floating point as redis-cell and throttlecrab do; beyond MaxPeriod it is more
// than MaxPeriod. Both must be above 0.
func emissionInterval(period, count int64) int64 {
	return int64(min(float64(period)*1e9/float64(count), 2*engine.MaxPeriod))
}

// signedInteger reads an int64 as Rust does: with either sign and leading zeros.
func signedInteger(arg []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(arg), 10, 64)
	return n, err == nil
}

// retrySeconds is how many whole seconds to wait, rounded up, so that waiting
// them is enough; -1 for Never.
func retrySeconds(wait engine.Span) int64 {
	if wait == engine.Never {
		return -1
	}
	seconds := wait.Millis / 1000
	if wait.Millis%1000 > 0 || wait.Nanos > 0 {
		seconds++
	}
	return seconds
}
