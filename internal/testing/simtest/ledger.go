package simtest

import (
	"slices"

	"limitsrv/commands/reservations"
	"limitsrv/engine"
)

// A ledger has the reservations by rules, and the tokens of each limit that count. It is the reference model of
// the laws of reservations. An open reservation counts with the tokens that it reserved, an expired reservation
// with its KEEP, and a settled reservation with the number used. All count from the time when they were taken.
type ledger struct {
	ids    map[string]*ruledReservation
	limits map[string]*ledgerLimit
}

// A ledgerLimit is a limit with the reservations that have taken from it.
type ledgerLimit struct {
	rule   string
	least  int64 // the lowest capacity of any decision
	period int64
	parts  []*ledgerPart
	// unsure is set if the number that counts is unknown: the log may lack a call, or a charge may have
	// been cut.
	unsure bool
}

// A ledgerPart is the part of a reservation in a limit: the tokens that count, by the time of their
// taking.
type ledgerPart struct {
	of       *ruledReservation
	limit    *ledgerLimit
	most     int64 // capacity of the limit for the reservation
	reserved int64 // tokens taken by the request
	taken    []ledgerTokens
}

type ledgerTokens struct {
	at engine.Instant
	n  int64
}

// The states of a reservation, as answers name them.
const (
	wordOpen      = "open"
	wordExpired   = "expired"
	wordCommitted = "committed"
	wordCanceled  = "canceled"
)

type ruledReservation struct {
	plan    *ruledPlan
	state   string
	keep    int64
	end     engine.Instant
	settled engine.Instant
	parts   []*ledgerPart
	money   int64 // the limit of moneyRule when it was reserved; 0 if it did not meet the rule
}

// used returns the tokens of a part that a commit says were used.
func (r *ruledReservation) used(p *ledgerPart) int64 {
	if r.plan.named {
		return weigh(p.limit.rule, r.money, r.plan.commits)
	}
	return r.plan.actual
}

// at returns the state of a reservation at now, or "" if its id is forgotten. If the reservation has just expired,
// at reduces its tokens to KEEP.
func (r *ruledReservation) at(now engine.Instant) string {
	if r == nil {
		return ""
	}
	if r.state == wordOpen && now >= r.end {
		r.state, r.settled = wordExpired, r.end
		for _, p := range r.parts {
			if p.limit.rule != fixedRule {
				p.use(r.keep)
			}
		}
	}
	const milli = engine.Instant(1e6)
	until := (r.settled + engine.Instant(reservations.Remembered) + milli - 1) / milli * milli
	if r.state != wordOpen && now >= until {
		return ""
	}
	return r.state
}

// use keeps the n oldest tokens, and returns the number of tokens that are missing to n.
func (p *ledgerPart) use(n int64) (beyond int64) {
	for i := range p.taken {
		p.taken[i].n = min(p.taken[i].n, n)
		n -= p.taken[i].n
	}
	return n
}

// total returns the tokens that count, whatever their time.
func (p *ledgerPart) total() (n int64) {
	for _, t := range p.taken {
		n += t.n
	}
	return n
}

// counted returns the tokens that count at now: those in the window.
func (l *ledgerLimit) counted(now engine.Instant) (n int64) {
	for _, p := range l.parts {
		p.of.at(now)
		for _, t := range p.taken {
			if t.at > now-engine.Instant(l.period) {
				n += t.n
			}
		}
	}
	return n
}

// fits reports whether n more tokens are within a capacity at now. A request for 0 tokens always fits.
func (l *ledgerLimit) fits(now engine.Instant, n, most int64) bool {
	return n == 0 || l.counted(now)+n <= most
}

// limit returns the limit of an op.
func (l *ledger) limit(op *engine.Op, rule string) *ledgerLimit {
	x := l.limits[string(op.Key)]
	if x == nil {
		x = &ledgerLimit{rule: rule, least: op.Params.Limit, period: op.Params.Period}
		l.limits[string(op.Key)] = x
	}
	x.least = min(x.least, op.Params.Limit)
	return x
}

// variable returns the parts that extensions and commits change. A ledger has no parts of the trial rule.
func (r *ruledReservation) variable() []*ledgerPart {
	return slices.DeleteFunc(slices.Clone(r.parts), func(p *ledgerPart) bool { return p.limit.rule == fixedRule })
}

// extended returns the parts that extensions take from: the variable parts that have taken tokens when they were
// reserved, or all variable parts of a request without amounts.
func (r *ruledReservation) extended() []*ledgerPart {
	return slices.DeleteFunc(r.variable(), func(p *ledgerPart) bool { return r.plan.named && p.reserved == 0 })
}

// extend adds a layer of tokens.
func (r *ruledReservation) extend(now engine.Instant) {
	for _, p := range r.extended() {
		p.taken = append(p.taken, ledgerTokens{now, r.plan.by})
	}
	r.end, r.keep = now+engine.Instant(r.plan.ttl), r.plan.reach
}

// commit settles a reservation, which may have expired, and charges the tokens beyond it at now.
func (r *ruledReservation) commit(now engine.Instant) {
	late := r.at(now) == wordExpired
	r.state, r.settled = wordCommitted, now
	for _, p := range r.variable() {
		beyond := r.used(p) - p.total()
		if !late {
			beyond = p.use(r.used(p))
		}
		if beyond <= 0 {
			continue
		}
		if !p.limit.fits(now, beyond, 2*p.limit.least) {
			p.limit.unsure = true
		}
		p.taken = append(p.taken, ledgerTokens{now, beyond})
	}
}

// cancel gives all tokens back.
func (r *ruledReservation) cancel(now engine.Instant) {
	r.state, r.settled = wordCanceled, now
	for _, p := range r.parts {
		p.taken = nil
	}
}
