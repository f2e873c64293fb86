package session

import (
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// A runLength updates the counters once for consecutive calls of a command, because
// pipelines mostly consist of such.
type runLength struct {
	counts []commandCounts
	last   *Spec
	calls  int64
	failed int64
	each   int64 // nanoseconds of each call
	// hits and misses are numbers of keys that a reading command found and did not find.
	hits, misses int64
	// requests are the calls of a command that Decides.
	requests [Outcomes + 1]int64
}

// begin flushes the counts of the last command if c is another command.
func (r *runLength) begin(c *Spec) {
	if c != r.last {
		r.flush()
		r.last = c
	}
}

func (r *runLength) add(c *Spec, failed bool, o Outcome) {
	r.begin(c)
	r.calls++
	if failed {
		r.failed++
		o = WasError
	}
	r.requests[o]++
}

func (r *runLength) flush() {
	if r.calls > 0 {
		r.counts[r.last.ID].took(r.calls, r.each)
	}
	if r.failed > 0 {
		r.counts[r.last.ID].failed.Add(r.failed)
	}
	if r.calls > 0 && r.last.Flags&spec.Decides != 0 {
		r.flushRequests()
	}
	if r.hits|r.misses != 0 {
		r.counts[r.last.ID].hits.Add(r.hits)
		r.counts[r.last.ID].misses.Add(r.misses)
	}
	r.calls, r.failed, r.hits, r.misses, r.requests = 0, 0, 0, 0, [Outcomes + 1]int64{}
}

// flushRequests adds the outcomes of the calls to the counts of their command.
func (r *runLength) flushRequests() {
	for o, n := range r.requests[:Outcomes] {
		if n > 0 {
			r.counts[r.last.ID].countRequests(Outcome(o), n)
		}
	}
}

// countHits counts the keys that a reading command found and those that are missing.
func (r *runLength) countHits(c *Spec, ds []engine.Decision) {
	r.begin(c)
	for i := range ds {
		r.countHit(ds[i].Status != engine.Missing)
	}
}

func (r *runLength) countHit(found bool) {
	if found {
		r.hits++
	} else {
		r.misses++
	}
}

// countValues counts the values of an answer, or of its array, as keys that a reading
// command found, and nil as missing keys.
func (r *runLength) countValues(c *Spec, reply []byte) {
	r.begin(c)
	v, rest, _ := answer.Next(reply)
	if v.Kind != answer.Array {
		r.countValue(v.Kind)
		return
	}
	for range v.Len {
		v, rest, _ = answer.Next(rest)
		r.countValue(v.Kind)
	}
}

func (r *runLength) countValue(k answer.Kind) {
	if k != answer.Error {
		r.countHit(k != answer.Nil)
	}
}
