package simtest

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"limitsrv/commands/reservations"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/rules/stored"
	"limitsrv/commands/weighing"
	"limitsrv/engine"
)

const (
	// ruledID is the prefix of ids of reservations by rules, and ruledDomain the domain of these rules.
	ruledID     = "ruled:"
	ruledDomain = "ruled"
	// fixedRule is a rule whose limits take one token of each request. trialRule is a rule in shadow.
	fixedRule, trialRule = "calls", "trial"
	// moneyRule is a rule with other weights in each version of the rules.
	moneyRule = "money"
)

// weightsAt returns the tenths that a unit of in and of out takes from the limit of moneyRule, which is different in
// all versions of the rules.
func weightsAt(limit int64) (tenths [2]int64) {
	return map[int64][2]int64{60: {5, 15}, 50: {3, 20}, 70: {10, 4}}[limit]
}

// ruledRules are versions of the rules for reservations. The windows of a limit are the same in all
// versions, because a limit with a changed window no longer gives tokens of its reservations back.
var ruledRules = func() (all []string) {
	for _, v := range []struct {
		calls, tokens, money int
		trial                string
	}{{calls: 9, tokens: 40, money: 60}, {calls: 12, tokens: 25, money: 50},
		{tokens: 40, money: 70, trial: "{count: 9, window: 20s, algorithm: log}"}} {
		weights := weightsAt(int64(v.money))
		text := "domain: " + ruledDomain + "\nrules:\n"
		if v.calls > 0 {
			text += fmt.Sprintf("  - {name: %s, per: [tenant], limits: [{count: %d, window: 3650d, algorithm: fixed, "+
				"hits: 1}]}\n", fixedRule, v.calls)
		}
		if v.trial != "" {
			text += fmt.Sprintf("  - {name: %s, per: [tenant], shadow: true, limits: [%s]}\n", trialRule, v.trial)
		}
		all = append(all, text+fmt.Sprintf("  - {name: tokens, per: [tenant], limits: [{count: %d, window: 20s, "+
			"algorithm: log, weights: {in: 1, out: 1}}]}\n  - {name: %s, per: [tenant], limits: [{count: %d, window: 3650d, "+
			"algorithm: fixed, weights: {in: %d.%d, out: %d.%d}}]}\n", v.tokens, moneyRule, v.money,
			weights[0]/10, weights[0]%10, weights[1]/10, weights[1]%10))
	}
	return all
}()

// A fate is the way that all clients end a reservation.
type fate int

const (
	usesLess fate = iota
	usesMore
	cancels
	dies // the clients never settle it
	fates
)

// A ruledPlan is the request and the life of a reservation by rules. The number of its id determines
// it, so that all clients send the same, however often they repeat it.
type ruledPlan struct {
	tenant  string
	hits    int64
	ttl     time.Duration
	keep    int64
	partial bool
	by      int64 // more tokens of each extension
	reach   int64 // to keep after an extension
	fate    fate
	actual  int64
	// With named, the request and the commit have amounts: in and out.
	named   bool
	asks    [2]int64
	commits [2]int64
}

// weigh returns the tokens that amounts take from a limit of a rule, with the limit of moneyRule in the same rules.
func weigh(rule string, money int64, all [2]int64) int64 {
	if rule != moneyRule {
		return all[0] + all[1]
	}
	tenths := weightsAt(money)
	return (all[0]*tenths[0] + all[1]*tenths[1] + 9) / 10
}

func planOf(number int) *ruledPlan {
	rng := rand.New(rand.NewPCG(uint64(number), 5))
	p := &ruledPlan{tenant: strconv.Itoa(number / perCounter), hits: 1 + rng.Int64N(9),
		ttl: time.Duration(2+rng.IntN(40)) * time.Second, keep: []int64{0, 2, reservations.KeepAll}[rng.IntN(3)],
		partial: rng.IntN(4) == 0, by: max(0, rng.Int64N(5)-1), reach: rng.Int64N(6), fate: fate(rng.IntN(int(fates)))}
	if p.actual = rng.Int64N(p.hits + 1); p.fate == usesMore {
		p.actual = p.hits + 1 + rng.Int64N(4)
	}
	if p.named = rng.IntN(2) == 0; p.named {
		p.partial = false
		p.asks = [2]int64{rng.Int64N(5), rng.Int64N(5)}
		p.commits = [2]int64{rng.Int64N(p.asks[0] + 1), rng.Int64N(p.asks[1] + 1)}
		if p.fate == usesMore {
			p.commits[rng.IntN(2)] += 1 + p.asks[0] + p.asks[1]
		}
	}
	return p
}

// ruled adds a step of a new or a recent reservation by rules, or a load of other rules. A node decides
// by its own rules, which may be older than the rules in force, and sometimes by still older rules.
// If the client's node has no compiled rules, ruled adds a step of a reservation without rules.
func (w *Workload) ruled(r *Request, rng *rand.Rand) {
	state := w.Known.State
	if state == nil || state.Err != nil {
		w.reserve(r, rng)
		return
	}
	if w.newest != state {
		w.older, w.newest = w.newest, state
	}
	if w.older != nil && rng.IntN(10) == 0 {
		state = w.older
	}
	if rng.IntN(40) == 0 {
		r.call(0, func(c *engine.Call) {
			stored.SetLoad(c, w.Known.Rules, everyRules[rng.IntN(len(everyRules))], "user", "note")
		})
		return
	}
	x := w.sendAgain(&w.ruledSent, "", rng)
	id, p := fmt.Append(nil, ruledID, x.number), planOf(x.number)
	switch step := rng.IntN(10); {
	case step < 4 || !x.reserved:
		x.reserved = true
		r.calls(0, func(b *engine.Batch) { p.reserve(b, state, id) })
	case step < 7 || p.fate == dies:
		r.calls(0, func(b *engine.Batch) { p.extend(b, id) })
	case p.fate == cancels:
		r.calls(0, func(b *engine.Batch) { reservations.Cancel(b, id) })
	default:
		r.calls(0, func(b *engine.Batch) { p.commit(b, id) })
	}
}

// reserve appends the call of a reservation by the rules of a node, as RL.CHECK RESERVE makes it.
func (p *ruledPlan) reserve(b *engine.Batch, state *live.State, id []byte) {
	q := checks.Request{Reserve: id,
		Terms: reservations.Terms{TTL: int64(p.ttl), Keep: p.keep, Partial: p.partial}}
	q.Domain, q.Hits = []byte(ruledDomain), p.hits
	if p.named {
		q.Amounts = amountsOf(p.asks)
	}
	q.AddDescriptor().Entries = []rules.Entry{{Key: []byte("tenant"), Value: []byte(p.tenant)}}
	var check checks.Check
	if err := check.Append(b, state, 0, &q); err != nil {
		panic(err)
	}
	terms, ok := check.Reserves(&q)
	if !ok {
		panic("the rules deny all requests")
	}
	reservations.Reserve(b, 0, id, terms)
}

// extend appends the call that extends a reservation.
func (p *ruledPlan) extend(b *engine.Batch, id []byte) {
	reservations.Extend(b, id, reservations.Extension{TTL: int64(p.ttl), By: p.by, Keep: p.reach})
}

// commit appends the call that settles a reservation.
func (p *ruledPlan) commit(b *engine.Batch, id []byte) {
	if p.named {
		reservations.CommitNamed(b, id, amountsOf(p.commits))
	} else {
		reservations.Commit(b, id, []int64{p.actual})
	}
}

// amountsOf returns named amounts, in an order that CommitNamed changes.
func amountsOf(n [2]int64) []weighing.Amount {
	return []weighing.Amount{{Name: []byte("out"), N: n[1]}, {Name: []byte("in"), N: n[0]}}
}

// limitOf returns the rule of ruledRules that the key of a limit belongs to. ok is false if the key is of no
// limit, because the request met no limit.
func limitOf(key []byte) (rule string, ok bool) {
	parts := bytes.Split(key, []byte("|"))
	if len(parts) < 2 {
		return "", false
	}
	return string(parts[1]), true
}

// Rules are the compiled rules of a node.
type Rules interface{ Current() *live.State }

// NodeRules returns the rules of a node with an engine: as in the server they follow the documents of the
// engine, and may be older than the rules in force.
func NodeRules(of func() *engine.Engine) Rules {
	return live.New(of, slog.New(slog.DiscardHandler), live.Options{})
}
