package checks

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"limitsrv/commands/reservations"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/weighing"
	"limitsrv/engine"
)

// checkReserve returns an error if a request can not be reserved. names is the number of namesOf.
func checkReserve(r *rules.Result, q *Request, names int) error {
	if q.Terms.Partial && len(q.Amounts) > 0 {
		return resp.NewError("ERR", "PARTIAL needs HITS n, because named amounts can not be lowered")
	}
	for i := range r.Limits {
		if m := &r.Limits[i]; m.Limit.HasLeases() && len(q.ID) > 0 {
			return resp.NewError("ERR", m.Name()+" has leases: with RESERVE their holder is the id of the reservation, so "+
				"leave out ID")
		}
	}
	if names > reservations.MaxNames {
		return resp.NewError("ERR", fmt.Sprintf("with RESERVE the limits of a request may weigh %d amounts, got %d",
			reservations.MaxNames, names))
	}
	return nil
}

// namesOf returns the names of amounts that the client may commit: the names of the request, and the names that its
// limits weigh, sorted. It returns nil for a request without Holds.
func namesOf(r *rules.Result, q *Request) (names [][]byte) {
	if !q.Holds {
		return nil
	}
	for i := range q.Amounts {
		if name := q.Amounts[i].Name; weighing.IsName(name) { // an unknown domain allows any
			names = append(names, name)
		}
	}
	for i := range r.Limits {
		for _, w := range r.Limits[i].Weights() {
			names = append(names, []byte(w.Name))
		}
	}
	slices.SortFunc(names, bytes.Compare)
	return slices.CompactFunc(names, bytes.Equal)
}

// Reserves returns the terms by which the request of the last Append is to be reserved; ok is false if it
// is not: it looks only, or a list, an override or the rules deny it. A request that passes without a
// limit is reserved too, so that its client can settle it as any other.
func (c *Check) Reserves(q *Request) (t reservations.Terms, ok bool) {
	if !c.reserves || c.verdict != rules.Limited && !c.verdict.Passes() && !c.state.Shadow {
		return t, false
	}
	t = q.Terms
	t.Request, t.Fixed, t.Bare = q.Hash(), 0, c.verdict != rules.Limited
	t.Names = c.memory.names
	met := c.met()
	for i := range met {
		m := &met[i]
		place := placeOf(met, m.op)
		if m.takesOne || m.Limit.None || m.Limit.HasLeases() || c.weighs && m.hits == 0 {
			t.Fixed |= 1 << place
		}
		if q.Holds {
			t.Weights = appendWeights(t.Weights, t.Names, place, &c.memory.result.Limits[i])
		}
	}
	slices.SortFunc(t.Weights, func(a, b reservations.Weight) int {
		return cmp.Or(cmp.Compare(a.Limit, b.Limit), cmp.Compare(a.Name, b.Name))
	})
	return t, true
}

// appendWeights appends the weights of a limit with a number among the limits.
func appendWeights(dst []reservations.Weight, names [][]byte, place int, m *rules.Met) []reservations.Weight {
	for _, w := range m.Weights() {
		name, _ := slices.BinarySearchFunc(names, []byte(w.Name), bytes.Compare)
		dst = append(dst, reservations.Weight{Limit: place, Name: name, Millionths: uint64(w.Millionths)})
	}
	return dst
}

// placeOf returns the number of limits with an op before an op.
func placeOf(met []Met, op uint8) (n int) {
	for i := range met {
		if met[i].op < op {
			n++
		}
	}
	return n
}

// granted returns the number of tokens that were granted of each limit without hits: 1.
func (c *Check) granted(ds []engine.Decision) (n int64) {
	for i := range c.memory.answer.Met {
		n = max(n, ds[c.memory.answer.Met[i].op].Allowed)
	}
	return n
}
