package limiters

import (
	"strconv"

	"limitsrv/engine"
)

// The limiter commands of other systems are token buckets here. A bucket earns a token per
// emission interval, computed as in the original. Replies and errors are the original's,
// except where the original overflows, crashes, allows too much, or returns a wait that
// does not prevent the next denial.

// bucketOp is a Take of n from a bucket of limit tokens that earns a token per interval ns.
func bucketOp(key []byte, limit, interval, n int64) engine.Op {
	return engine.Op{
		Kind: engine.Take, Key: key, N: n,
		Params: engine.Params{Alg: engine.Token, Limit: limit, Count: 1, Period: interval},
	}
}

// emissionInterval is period seconds / count in nanoseconds, truncated, computed in
// floating point as redis-cell and throttlecrab do; a result above MaxPeriod stays above
// it. Requires: both arguments are above 0.
func emissionInterval(period, count int64) int64 {
	return int64(min(float64(float64(period)*1e9)/float64(count), 2*engine.MaxPeriod))
}

// signedInteger parses an int64 as Rust does: with either sign and leading zeros.
func signedInteger(arg []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(arg), 10, 64)
	return n, err == nil
}

// retrySeconds returns a wait in seconds, rounded up so that it is long enough; -1 for
// Never.
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
