package simtest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"limitsrv/commands/reservations"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// A ruledCheck compares the answers about reservations by rules with a ledger. The calls of all clients
// are in the order of the log, with the answers that checkCall has compared with the clients' answers.
type ruledCheck struct {
	*History
	ledger
	seen  map[string]int // outcomes
	reply reservations.Reply
	// lacking has the ids and keys that are not compared: they were evicted, or the log may lack a call on them.
	lacking map[string]bool
}

// checkRuled finds limits that gave more than they had, reservations that were counted twice or not as
// they were settled, and reservations that are open after their end.
func (h *History) checkRuled() {
	x := ruledCheck{History: h, ledger: ledger{map[string]*ruledReservation{}, map[string]*ledgerLimit{}},
		seen: map[string]int{}, lacking: map[string]bool{}}
	x.findLacking()
	for i := range h.Ops {
		a := &h.Ops[i]
		if bare, id := ruledCall(&a.of.Request, a.Op); bare != nil {
			bare.Answer = []byte(a.Answer)
			x.see(a, bare, id)
		}
	}
	x.checkEnd()
	h.ruledSeen = x.seen
}

// ruledCall returns the call of an op on a reservation by rules, and its id; nil of any other op.
func ruledCall(r *Request, op *engine.Op) (bare *engine.Call, id string) {
	if op.Kind != engine.Do {
		return nil, ""
	}
	bare = untagged(&r.Calls[op.N])
	if len(bare.Args) == 0 || !bytes.HasPrefix(bare.Args[0], []byte(ruledID)) {
		return nil, ""
	}
	return bare, string(bare.Args[0])
}

// findLacking sets lacking.
func (x *ruledCheck) findLacking() {
	keys := map[string][]engine.Op{} // by id
	for _, c := range x.Calls {
		for i := range c.Ops {
			bare, id := ruledCall(&c.Request, &c.Ops[i])
			if bare == nil {
				continue
			}
			keys[id] = append(keys[id], reservations.OpsOf(bare)...)
			x.lacking[id] = x.lacking[id] || c.MayLack || x.Evicted[id]
		}
	}
	for id, ops := range keys {
		for i := range ops {
			key := string(ops[i].Key)
			x.lacking[key] = x.lacking[key] || x.lacking[id] || x.Evicted[key]
		}
	}
}

// see notes an applied call.
func (x *ruledCheck) see(a *Applied, c *engine.Call, id string) {
	if ops := reservations.OpsOf(c); len(ops) > 0 {
		x.seeReserve(a, c, id)
		return
	}
	r := x.ids[id]
	done, state, ok := stateOf(c.Answer)
	if !ok { // an error: there is no memory, or a key has many holds
		x.seen["errors"]++
		return
	}
	was := r.at(a.Stamp)
	what := reservations.CallName(c.Command)
	x.seen[what+" "+state]++
	what, _, _ = strings.Cut(what, " ") // RL.COMMIT amounts is a commit
	if x.lacking[id] {
		return
	}
	if want := wordOf(was, what); want != state && (state != reservations.Limited || want != wordOpen) {
		x.Fault("%s of %s in entry %d was answered %q, want %q", what, id, a.Index, state, want)
		return
	}
	switch {
	case !done && state != reservations.Limited:
	case what == "RL.EXTEND":
		x.seeExtend(a, id, r, done)
	case was == wordOpen && what == "RL.CANCEL":
		r.cancel(a.Stamp)
	case was == wordOpen || was == wordExpired:
		r.commit(a.Stamp)
	}
}

// wordOf returns the state that answers a call on a reservation in a state.
func wordOf(was, call string) string {
	switch {
	case was == wordOpen && call == "RL.COMMIT":
		return wordCommitted
	case was == wordOpen && call == "RL.CANCEL":
		return wordCanceled
	case was == wordExpired && call == "RL.COMMIT":
		return "late"
	}
	return was
}

// stateOf reads an answer to a call on a reservation. state is "" for an unknown id. ok is false if the
// answer is an error.
func stateOf(data []byte) (done bool, state string, ok bool) {
	v, rest, _ := answer.Next(data)
	switch v.Kind {
	case answer.NilArray:
		return false, "", true
	case answer.Error:
		return false, "", false
	}
	n, rest, _ := answer.TakeInt(rest)
	word, _, ok := answer.TakeBulk(rest)
	return n == 1, string(word), ok
}

// seeExtend notes an extension of an open reservation.
func (x *ruledCheck) seeExtend(a *Applied, id string, r *ruledReservation, granted bool) {
	fits, unsure := true, false
	for _, p := range r.extended() {
		unsure = unsure || p.limit.unsure
		if r.plan.by == 0 || p.limit.fits(a.Stamp, r.plan.by, p.most) {
			continue
		}
		if fits = false; granted && !p.limit.unsure {
			x.overLimit(a, id, p.limit, r.plan.by, p.most)
		}
	}
	if !granted && fits && !unsure {
		x.Fault("an extension of %s was denied in entry %d, although all limits have %d tokens", id, a.Index, r.plan.by)
	}
	if granted {
		r.extend(a.Stamp)
	}
}

func (x *ruledCheck) overLimit(a *Applied, id string, l *ledgerLimit, n, most int64) {
	x.Fault("%s got %d tokens of rule %s in entry %d over the limit: of %d already %d count", id, n, l.rule, a.Index, most,
		l.counted(a.Stamp))
}

// seeReserve notes a request to reserve.
func (x *ruledCheck) seeReserve(a *Applied, c *engine.Call, id string) {
	r := x.ids[id]
	was := r.at(a.Stamp)
	if err := x.reply.Read(c); err != nil {
		if x.seen["errors"]++; strings.HasPrefix(err.Error(), "BUSYKEY") && !x.lacking[id] && was != wordExpired &&
			was != wordCanceled {
			x.Fault("%s in entry %d was answered %q, although it is %q", id, a.Index, err, was)
		}
		return
	}
	number, _ := strconv.Atoi(strings.TrimPrefix(id, ruledID))
	fresh := &ruledReservation{plan: planOf(number), state: wordOpen}
	switch outcome := x.decided(a, fresh, id); {
	case outcome == "":
		return
	case x.reply.Repeated:
		if x.seen["repeated"]++; !x.lacking[id] && was != wordOpen && was != wordCommitted {
			x.Fault("%s in entry %d was answered as a repeated request, although it is %q", id, a.Index, was)
		}
	case outcome == "granted" && was != "" && !x.lacking[id]:
		x.Fault("%s is %q, and was counted again in entry %d", id, was, a.Index)
	case outcome == "granted":
		x.seen[outcome]++
		x.ids[id] = fresh
		fresh.keep, fresh.end = fresh.plan.keep, a.Stamp+engine.Instant(fresh.plan.ttl)
		for _, p := range fresh.parts {
			p.limit.parts = append(p.limit.parts, p)
		}
	default:
		x.seen[outcome]++
	}
}

// decided returns the outcome of a request, or "" if the request was not decided, because the rules have changed or
// there is no memory. It sets the parts of the reservation, and checks the decision on a new request.
func (x *ruledCheck) decided(a *Applied, fresh *ruledReservation, id string) (outcome string) {
	outcome, fits, unsure := "granted", true, false
	for i := range x.reply.Ops {
		op, d := &x.reply.Ops[i], &x.reply.Decisions[i]
		switch {
		case op.Kind != engine.Needs:
		case d.Status == engine.Stale:
			x.seen["by older rules"]++
		case d.Status == engine.OK && (uint64(op.N) < a.Rules[0] || uint64(op.N) > a.Rules[1]):
			x.Fault("%s was decided in entry %d by rules of version %d, in force is %d", id, a.Index, op.N, a.Rules[0])
		}
		if d.Status != engine.OK && op.Mode != engine.Shadow {
			return ""
		}
		rule, ok := limitOf(op.Key)
		if !ok || rule == trialRule {
			continue
		}
		if d.Allowed == 0 {
			outcome = "denied"
		}
		l := x.limit(op, rule)
		l.unsure = l.unsure || x.lacking[string(op.Key)]
		unsure = unsure || l.unsure
		n, least := op.N, op.N
		if fresh.plan.partial && rule != fixedRule {
			n, least = d.Allowed, 1
		}
		fits = fits && l.fits(a.Stamp, least, op.Params.Limit)
		if rule == moneyRule {
			fresh.money = op.Params.Limit
		}
		fresh.parts = append(fresh.parts, &ledgerPart{of: fresh, limit: l, most: op.Params.Limit, reserved: n,
			taken: []ledgerTokens{{a.Stamp, n}}})
	}
	x.checkWeighed(a, fresh, id)
	switch {
	case x.reply.Repeated:
	case outcome == "denied" && fits && !unsure:
		x.Fault("%s was denied in entry %d, although all limits have its tokens", id, a.Index)
	case outcome == "granted":
		for _, p := range fresh.parts {
			if n := p.total(); !p.limit.unsure && !p.limit.fits(a.Stamp, n, p.most) {
				x.overLimit(a, id, p.limit, n, p.most)
			}
		}
	}
	return outcome
}

// checkWeighed requires that the request takes the weighed sum of its amounts from each limit.
func (x *ruledCheck) checkWeighed(a *Applied, fresh *ruledReservation, id string) {
	for _, p := range fresh.parts {
		if !fresh.plan.named || p.limit.rule == fixedRule || x.reply.Repeated {
			continue
		}
		if want := weigh(p.limit.rule, fresh.money, fresh.plan.asks); p.reserved != want {
			x.Fault("%s takes %d of rule %s in entry %d, want %d", id, p.reserved, p.limit.rule, a.Index, want)
		}
	}
}

// checkEnd compares the limits with the ledger at a time after the ends of all reservations.
func (x *ruledCheck) checkEnd() {
	x.seen["limits"] = len(x.limits)
	now := x.Engine.Now()
	for _, r := range x.ids {
		now = max(now, r.end)
	}
	for key, l := range x.limits {
		if l.unsure {
			continue
		}
		x.seen["limits with known numbers"]++
		var open engine.Batch
		reservations.ReservedOf(&open, []byte(key), 0, reservations.MaxCount)
		open.Calls[0].Args = append(open.Calls[0].Args, nil) // the place of the tag
		open.Ops = append(open.Ops, engine.Op{Kind: engine.Peek, Key: []byte(key)})
		x.Engine.Apply(now, &open)
		if held := rowsOf(open.Calls[0].Answer); held > 0 {
			x.Fault("%s has %d open reservations after the end of all", key, held)
		}
		d, want := &open.Decisions[1], l.counted(now)
		used := int64(0)
		if d.Status == engine.OK {
			used = d.Params.Limit - d.Remaining
		}
		if d.Remaining > 0 && used != want || d.Remaining == 0 && want < used {
			x.Fault("of %s %d tokens are used at the end, want %d by its reservations", key, used, want)
		}
	}
}

// rowsOf returns the number of rows of an answer of ReservedOf.
func rowsOf(data []byte) int {
	_, rest, _ := answer.Next(data)
	_, rest, _ = answer.Next(rest) // the cursor
	v, _, _ := answer.Next(rest)
	return v.Len
}

// ruledSummary describes the reservations by rules.
func (h *History) ruledSummary() string { return fmt.Sprintf("by rules %v", h.ruledSeen) }
