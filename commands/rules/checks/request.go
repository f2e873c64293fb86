package checks

import (
	"encoding/binary"
	"math"
	"slices"

	"limitsrv/commands/reservations"
	"limitsrv/commands/rules"
	"limitsrv/engine/siphash"
)

// A Request asks if it may pass by the rules of a domain. Its bytes must stay unchanged
// until the answer.
type Request struct {
	rules.Request
	// Hits is the number of tokens for each descriptor, 0 to engine.MaxN. 0 looks only. A request with
	// Amounts takes their weighed sums instead, and with Used it settles them.
	Hits int64
	// Own are the tokens for descriptors that have their own number, by index, -1 for
	// descriptors that take Hits; nil if no descriptor has a number.
	Own []int64
	// Negative is set, by index, for descriptors that give their tokens back instead of taking
	// them. nil: no descriptor does. Requires: neither Peek nor Settle is set.
	Negative []bool
	// HitsGiven is set if the client sent Hits; otherwise Hits is the default.
	HitsGiven bool
	// ID is the holder of the leases, for limits that have leases; it may be empty, and then
	// such a limit is an error.
	ID []byte
	// Settle, unless it is 0, takes so many tokens unconditionally, or returns them if it is
	// negative, instead of Hits. An ID then returns its leases.
	Settle int64
	// Once, unless it is nil, is an id: the request acts once while the id is remembered, which is
	// for OnceFor nanoseconds. The caller of Append has reservations.Wrap carry it out.
	Once    []byte
	OnceFor int64
	// Reserve, unless it is nil, is an id: the tokens are reserved under it by Terms. The
	// caller of Append has reservations.Reserve carry it out, see Check.Reserves. Requires: Once is nil,
	// and the request does not settle.
	Reserve []byte
	Terms   reservations.Terms // without the fields that Check.Reserves sets
	// Peek looks only: the answer tells if Hits tokens would pass, and nothing is counted.
	Peek bool

	report bool // set by Report
}

// hits returns the number of tokens that a limit takes.
func (q *Request) hits(m *rules.Met) int64 {
	if len(q.Amounts) > 0 {
		return m.Hits
	}
	n := q.taken(m.Descriptor)
	if n > 1 && m.TakesOne() {
		return 1
	}
	return n
}

// holder returns the holder of the leases that the request takes. With RESERVE it is the id of the reservation, so
// that no two reservations share a lease. Otherwise it is ID.
func (q *Request) holder() []byte {
	if q.Reserve != nil {
		return q.Reserve
	}
	return q.ID
}

// IsReserved reports whether a passing request is reserved: a look is not.
func (q *Request) IsReserved() bool { return q.Reserve != nil && !q.Peek }

// taken returns the number of tokens that a descriptor takes; 0 if it gives tokens back.
func (q *Request) taken(descriptor int) int64 {
	if q.givesBack(descriptor) {
		return 0
	}
	return q.tokens(descriptor)
}

// givesBack reports whether a descriptor gives its tokens back.
func (q *Request) givesBack(descriptor int) bool {
	return descriptor < len(q.Negative) && q.Negative[descriptor]
}

// tokens returns the number of tokens that a descriptor takes or gives back.
func (q *Request) tokens(descriptor int) int64 {
	if descriptor < len(q.Own) && q.Own[descriptor] >= 0 {
		return q.Own[descriptor]
	}
	return q.Hits
}

// Report makes q a request that settles: it takes the tokens of each descriptor with a number of
// its own unconditionally. If no descriptor has usage to report, it returns false and leaves q
// unchanged.
func (q *Request) Report() (ok bool) {
	if q.Peek || q.settling() || !slices.ContainsFunc(q.Own, isUsage) {
		return false
	}
	q.report = true
	return true
}

// isUsage reports whether a descriptor's own number of tokens may be usage. Numbers from
// math.MaxUint32 on are mistakes, for example a converted -1, and must not exhaust a limit.
func isUsage(n int64) bool { return n > 0 && n < math.MaxUint32 }

// settling reports whether the request settles: it takes or returns tokens unconditionally.
func (q *Request) settling() bool { return q.Settle != 0 || q.Used || q.report }

// settles returns the number of tokens that a limit settles; negative: they are returned.
func (q *Request) settles(m *rules.Met) int64 {
	switch {
	case q.Used:
		return m.Hits
	case m.TakesOne(): // the request was counted before
		return 0
	case !q.report:
		return q.Settle
	case m.Descriptor < len(q.Own) && isUsage(q.Own[m.Descriptor]) && !q.givesBack(m.Descriptor):
		return q.Own[m.Descriptor]
	}
	return 0
}

// Reset makes q an empty request of a token for a domain. It keeps memory.
func (q *Request) Reset(domain []byte) {
	q.Domain, q.Descriptors = domain, q.Descriptors[:0]
	q.Hits, q.Own, q.ID, q.Settle, q.Peek, q.report = 1, q.Own[:0], nil, 0, false, false
	q.Negative, q.HitsGiven, q.Once, q.Amounts, q.Used = nil, false, nil, q.Amounts[:0], false
	q.Reserve = nil
}

// Hash returns the hash by which a request with the same Once or Reserve is known to be the same: of all
// that the client has asked for, without Terms.
func (q *Request) Hash() uint64 {
	var (
		buf  [512]byte
		hash = binary.AppendVarint(append(buf[:0], 'R'), q.Settle)
		text = func(b []byte) { hash = append(binary.AppendUvarint(hash, uint64(len(b))), b...) }
	)
	hash = binary.AppendVarint(hash, q.Hits)
	text(q.Domain)
	text(q.ID)
	for i := range q.Descriptors {
		entries := q.Descriptors[i].Entries
		hash = binary.AppendUvarint(binary.AppendVarint(hash, q.tokens(i)), uint64(len(entries)))
		for _, e := range entries {
			text(e.Key)
			text(e.Value)
		}
	}
	if q.Used {
		hash = append(hash, 'U')
	}
	for i := range q.Amounts {
		text(q.Amounts[i].Name)
		hash = binary.AppendVarint(hash, q.Amounts[i].N)
	}
	return siphash.Key{}.Sum(hash)
}

// AddDescriptor appends an empty descriptor, reusing the memory of an earlier descriptor.
func (q *Request) AddDescriptor() *rules.Descriptor {
	n := len(q.Descriptors)
	if n == cap(q.Descriptors) {
		q.Descriptors = append(q.Descriptors, rules.Descriptor{})
	} else {
		q.Descriptors = q.Descriptors[:n+1]
	}
	d := &q.Descriptors[n]
	d.Entries, d.Limit = d.Entries[:0], nil
	return d
}
