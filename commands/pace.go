package commands

import (
	"time"

	"limitsrv/engine"
)

// Logins of an address: so many at once, one a second after that, and as many again
// on credit, which is what an attempt then waits for.
const (
	loginBurst  = 10
	loginPeriod = time.Second
	// paceMemory bounds what is kept of addresses, in bytes.
	paceMemory = 1 << 20
)

// A pace slows attempts by a token bucket for each address, as anybody would who has
// a rate limiter. Many may use it at once.
type pace struct {
	engine *engine.Engine
	now    func() engine.Instant // never goes back
}

var loginParams = engine.Params{Alg: engine.Token, Limit: loginBurst, Count: 1, Period: int64(loginPeriod)}

func newPace() *pace {
	began := time.Now()
	return &pace{
		engine: engine.New(engine.Options{Shards: 1, Seed: [16]byte([]byte(randomID()[:16])), MaxMemory: paceMemory, Evict: true}),
		now:    func() engine.Instant { return engine.Instant(time.Since(began)) },
	}
}

// take takes a permit of an address, and says how long to wait where that is on
// credit. Not ok: there is no credit any more.
func (p *pace) take(host string) (wait time.Duration, ok bool) {
	key := paceKey(host)
	if d := p.ask(engine.Op{Kind: engine.Take, Params: loginParams, N: 1, Key: key}); d.Status != engine.OK || d.Allowed == 1 {
		return 0, true
	}
	d := p.ask(engine.Op{Kind: engine.Charge, N: 1, Key: key})
	if d.Allowed == 0 {
		return 0, false
	}
	return time.Duration(d.Wait.CeilMillis()) * time.Millisecond, true
}

// giveBack gives a permit back.
func (p *pace) giveBack(host string) {
	p.ask(engine.Op{Kind: engine.Refund, N: 1, Key: paceKey(host)})
}

// paceKey is the key of an address's bucket.
func paceKey(host string) []byte { return []byte(host[:min(len(host), engine.MaxKeyBytes)]) }

func (p *pace) ask(op engine.Op) engine.Decision {
	b := engine.Batch{Ops: []engine.Op{op}}
	p.engine.Apply(p.now(), &b)
	return b.Decisions[0]
}
