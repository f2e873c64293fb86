package commands

import (
	"time"

	"limitsrv/engine"
)

// Permits of an address: so many at once, and one a second after that. Each is for one
// password that is checked, or for telling that one was wrong which was checked early.
const (
	loginBurst  = 10
	loginPeriod = time.Second
)

// These permits or more must be there for one to be taken: in line; for an attempt that has
// just come, with a name that was guessed at from the address; and with any other name,
// by somebody who may have come back, and by a newcomer.
const (
	turnLeast     int64 = 7
	guessedLeast  int64 = 5
	returnedLeast int64 = 3
	newcomerLeast int64 = 1
)

const (
	// markLasts is how long a name is one that was guessed at.
	markLasts = 10 * time.Minute
	// maxLeft and leftPeriod are of those who gave up waiting, and may be back: so many
	// at most, and so long for each.
	maxLeft    = 128
	leftPeriod = time.Second / 4
	// limiterMemory bounds the memory of addresses, and of names, in bytes each.
	limiterMemory = 1 << 20
)

// A pace slows attempts by a token bucket for each address, as anybody would who has
// a rate limiter. Many may use it at once.
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
		return engine.New(engine.Options{Shards: 1, Seed: [16]byte([]byte(randomID()[:16])), MaxMemory: limiterMemory, Evict: true})
	}
	return &loginLimiter{
		addresses: small(), pairs: small(),
		now: func() engine.Instant { return engine.Instant(time.Since(began)) },
	}
}

// take takes a permit of an address if it has as many as least, and else says how long
// it takes until then.
func (l *loginLimiter) take(host string, least int64) (wait time.Duration, ok bool) {
	key := addressKey('p', host)
	d := l.apply(l.addresses, engine.Op{Kind: engine.Take, Params: loginParams, N: least, Key: key})
	if d.Status == engine.OK && d.Allowed == 0 {
		return time.Duration(d.Wait.CeilMillis()) * time.Millisecond, false
	}
	l.apply(l.addresses, engine.Op{Kind: engine.Refund, N: least - 1, Key: key})
	return 0, true
}

// takes is take without the wait.
func (l *loginLimiter) tryTake(host string, least int64) bool {
	_, ok := l.take(host, least)
	return ok
}

// refund gives a permit back.
func (l *loginLimiter) refund(host string) {
	l.apply(l.addresses, engine.Op{Kind: engine.Refund, N: 1, Key: addressKey('p', host)})
}

// recordAbandoned notes that somebody of an address gave up waiting.
func (l *loginLimiter) recordAbandoned(host string) {
	l.apply(l.addresses, engine.Op{Kind: engine.Take, Params: leftParams, N: 1, Key: addressKey('l', host)})
}

// takeReturned takes a newcomer of an address for one of those who left it shortly before,
// if there is one more of these.
func (l *loginLimiter) takeReturned(host string) bool {
	return l.apply(l.addresses, engine.Op{Kind: engine.Refund, N: 1, Key: addressKey('l', host)}).Status == engine.OK
}

// mark notes that a pair is guessed at.
func (l *loginLimiter) mark(pair mac) {
	l.apply(l.pairs, engine.Op{Kind: engine.Take, Params: markParams, N: 1, Key: pair[:]})
}

// unmark takes that back.
func (l *loginLimiter) unmark(pair mac) {
	l.apply(l.pairs, engine.Op{Kind: engine.Forget, Key: pair[:]})
}

// unmarked says whether a pair was not guessed at of late.
func (l *loginLimiter) unmarked(pair mac) bool {
	return l.apply(l.pairs, engine.Op{Kind: engine.Peek, Key: pair[:]}).Status == engine.Missing
}

// addressKey is the key of one of an address's buckets.
func addressKey(kind byte, host string) []byte {
	return append([]byte{kind}, host[:min(len(host), engine.MaxKeyBytes-1)]...)
}

func (l *loginLimiter) apply(e *engine.Engine, op engine.Op) engine.Decision {
	b := engine.Batch{Ops: []engine.Op{op}}
	e.Apply(l.now(), &b)
	return b.Decisions[0]
}
