package commit

// A Queue holds the requests that wait for a group, in order. Concurrency: its owner's
// mutex guards it.
type Queue[R any] struct {
	waiting []R
	spare   []R // memory for the next waiting
}

// Add appends a request.
func (q *Queue[R]) Add(r R) { q.waiting = append(q.waiting, r) }

// Len returns the number of requests.
func (q *Queue[R]) Len() int { return len(q.waiting) }

// First returns the request that has waited longest. Requires: Len is not 0.
func (q *Queue[R]) First() R { return q.waiting[0] }

// Take empties the queue and returns its requests. The caller passes them to Return, unless
// it keeps them.
func (q *Queue[R]) Take() []R {
	all := q.waiting
	q.waiting, q.spare = q.spare[:0], nil
	return all
}

// Return puts rest, which must be a tail of the requests returned by Take, in front of the
// requests that were added meanwhile. If it is empty, the memory of all is reused.
func (q *Queue[R]) Return(rest, all []R) {
	if len(rest) == 0 {
		clear(all)
		q.spare = all[:0]
		return
	}
	q.waiting = append(append(make([]R, 0, len(rest)+len(q.waiting)), rest...), q.waiting...)
}
