package forward

// inFlightRequests is a queue of requests by their consecutive numbers.
type inFlightRequests struct {
	ring        []Request // its length is a power of two; request n is at n modulo that
	first, next uint64    // all in flight are from first to next-1
}

// len returns the span of numbers in flight; 0: no request.
func (q *inFlightRequests) len() int { return int(q.next - q.first) }

func (q *inFlightRequests) at(seq uint64) *Request { return &q.ring[seq&uint64(len(q.ring)-1)] }

func (q *inFlightRequests) add(r Request) {
	if q.len() == len(q.ring) {
		grown := inFlightRequests{ring: make([]Request, max(64, 2*len(q.ring))), first: q.first, next: q.next}
		for seq := q.first; seq != q.next; seq++ {
			*grown.at(seq) = *q.at(seq)
		}
		*q = grown
	}
	*q.at(q.next) = r
	q.next++
}

// take removes request seq, if it is in flight.
func (q *inFlightRequests) take(seq uint64) (Request, bool) {
	if seq-q.first >= uint64(q.len()) {
		return Request{}, false
	}
	at := q.at(seq)
	r := *at
	*at = Request{}
	for q.first != q.next && q.at(q.first).Batch == nil {
		q.first++
	}
	return r, r.Batch != nil
}

func (q *inFlightRequests) each(yield func(Request)) {
	for seq := q.first; seq != q.next; seq++ {
		if r := *q.at(seq); r.Batch != nil {
			yield(r)
		}
	}
}
