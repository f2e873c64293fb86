package auth

import (
	"crypto/rand"
	"time"

	"limitsrv/engine"
)

// Token bucket of an address: capacity and refill interval. A token pays for a checked
// password, or for the delayed answer to a password that was checked early and was wrong.
const (
	loginBurst  = 10
	loginPeriod = time.Second
)

// Least number of tokens that must be there before a token is taken: by an attempt in line;
// by a new attempt with a name guessed at before from the address; and, with any other
// name, by a client that may have returned, and by a new client.
const (
	turnLeast     int64 = 7
	guessedLeast  int64 = 5
	returnedLeast int64 = 3
	newcomerLeast int64 = 1
)

const (
	// markLasts is how long a name counts as guessed at.
	markLasts = 10 * time.Minute
	// maxLeft bounds the recorded cancelled attempts of an address, because these clients
	// may return, and leftPeriod is the time until a record expires.
	maxLeft    = 128
	leftPeriod = time.Second / 4
	// limiterMemory bounds the memory for addresses, and for pairs, in bytes each.
	limiterMemory = 1 << 20
)

// A loginLimiter limits attempts with a token bucket for each address. Concurrency: any
// number of goroutines may use it.
type loginLimiter struct {
	addresses, pairs *engine.Engine
	now              func() engine.Instant // never goes back
}

var (
	loginParams = engine.Params{Alg: engine.Token, Limit: loginBurst, Count: 1, Period: int64(loginPeriod)}
	markParams  = engine.Params{Alg: engine.Token, Limit: 1, Count: 1, Period: int64(markLasts)}
	leftParams  = engine.Params{Alg: engine.Token, Limit: maxLeft, Count: 1, Period: int64(leftPeriod)}
)

func newLoginLimiter() *loginLimiter {
	began := time.Now()
	small := func() *engine.Engine {
		o := engine.Options{Shards: 1, MaxMemory: limiterMemory, Evict: true}
		_, _ = rand.Read(o.Seed[:]) // it never fails
		return engine.New(o)
	}
	return &loginLimiter{
		addresses: small(), pairs: small(),
		now: func() engine.Instant { return engine.Instant(time.Since(began)) },
	}
}

// take takes a token of an address if it has at least `least`, otherwise returns the time
// until it has.
func (l *loginLimiter) take(host string, least int64) (wait time.Duration, ok bool) {
	key := addressKey('p', host)
	d := l.apply(l.addresses, engine.Op{Kind: engine.Take, Params: loginParams, N: least, Key: key})
	if d.Status == engine.OK && d.Allowed == 0 {
		return time.Duration(d.Wait.CeilMillis()) * time.Millisecond, false
	}
	l.apply(l.addresses, engine.Op{Kind: engine.Refund, N: least - 1, Key: key})
	return 0, true
}

// tryTake is take without the wait.
func (l *loginLimiter) tryTake(host string, least int64) bool {
	_, ok := l.take(host, least)
	return ok
}

// refund returns a token.
func (l *loginLimiter) refund(host string) {
	l.apply(l.addresses, engine.Op{Kind: engine.Refund, N: 1, Key: addressKey('p', host)})
}

// recordAbandoned records that a client of an address cancelled its login.
func (l *loginLimiter) recordAbandoned(host string) {
	l.apply(l.addresses, engine.Op{Kind: engine.Take, Params: leftParams, N: 1, Key: addressKey('l', host)})
}

// takeReturned takes the record of a client of an address that cancelled shortly before,
// and reports whether there was a record. The new client counts as that client.
func (l *loginLimiter) takeReturned(host string) bool {
	return l.apply(l.addresses, engine.Op{Kind: engine.Refund, N: 1, Key: addressKey('l', host)}).Status == engine.OK
}

// mark records a guess at a pair.
func (l *loginLimiter) mark(pair mac) {
	l.apply(l.pairs, engine.Op{Kind: engine.Take, Params: markParams, N: 1, Key: pair[:]})
}

// unmark undoes mark.
func (l *loginLimiter) unmark(pair mac) {
	l.apply(l.pairs, engine.Op{Kind: engine.Forget, Key: pair[:]})
}

// unmarked reports whether a pair was not guessed at recently.
func (l *loginLimiter) unmarked(pair mac) bool {
	return l.apply(l.pairs, engine.Op{Kind: engine.Peek, Key: pair[:]}).Status == engine.Missing
}

// addressKey returns the key of one of an address's buckets.
func addressKey(kind byte, host string) []byte {
	return append([]byte{kind}, host[:min(len(host), engine.MaxKeyBytes-1)]...)
}

func (l *loginLimiter) apply(e *engine.Engine, op engine.Op) engine.Decision {
	b := engine.Batch{Ops: []engine.Op{op}}
	now := l.now()
	e.MakeRoom(now, &b)
	e.Apply(now, &b)
	return b.Decisions[0]
}
