package engine

// MaxAnswerBytes bounds the answer of a call, in bytes, from level 2 on. It is greater than the
// length of the longest string. All nodes and replays have the same bound, because a call with a
// longer answer changes nothing.
const MaxAnswerBytes = 20 << 20

const (
	// unboundedAnswer is the AnswerRoom, in bytes, at level 1.
	unboundedAnswer = 1 << 40
	// shortAnswer is a length in bytes. An answer of a call that writes is never dropped if it
	// is not longer. The effects of such a call can not be undone.
	shortAnswer = 4 << 10
)

// AnswerRoom returns the maximum length of the call's answer, in bytes of the longer protocol form.
// Before a command changes anything or appends a long answer, it must count the length of that
// answer. It must return an error in place of a longer answer.
func (tx *Tx) AnswerRoom() int {
	if tx.level == 1 {
		return unboundedAnswer
	}
	return tx.room
}

// ClaimAnswer sets the length of the answer in bytes, if a protocol form is longer than
// Call.Answer.
func (tx *Tx) ClaimAnswer(bytes int) { tx.claimed = bytes }

// RefuseAnswer records that the call answers an error because its answer would exceed AnswerRoom.
func (tx *Tx) RefuseAnswer() { tx.refused = true }

// WholeAnswers resets AnswerRoom to MaxAnswerBytes. A call that makes other calls must call it,
// because each of them has an answer of its own.
func (tx *Tx) WholeAnswers() { tx.room, tx.partial = MaxAnswerBytes, false }

// MaxAtomicWork bounds the work of the calls of an Atomic batch, in visits to an element, from
// level 2 on. It takes about 0.3 s. A call on plain values, or a run, that would begin above the
// bound changes nothing and answers an error.
const MaxAtomicWork = 8 << 20

// Exhausted reports whether the earlier calls of the batch have used up MaxAtomicWork. If so, the
// call must change nothing.
func (tx *Tx) Exhausted() bool { return tx.exhausted }

// exhausts reports whether a call of an Atomic batch must not be executed. For a call that writes,
// only the work of calls that write counts, because a replay of the log may lack the other calls.
func (e *Engine) exhausts(b *Batch, c *Call) bool {
	if b.readOnly || c.ReadOnly {
		return b.visited+b.changing >= MaxAtomicWork && (b.readOnly || !e.effects)
	}
	return b.changing >= MaxAtomicWork && b.tx.Level() > 1
}

// countWork counts the work of an executed call.
func (b *Batch) countWork(c *Call) {
	if c.ReadOnly {
		b.visited += b.tx.work
		return
	}
	b.changing += b.tx.work
}

// holdBack sets the room of a call in a batch with AnswerBytes. It reports whether the call must
// not be executed.
func (e *Engine) holdBack(b *Batch, c *Call) bool {
	if !b.readOnly && (!c.ReadOnly || e.effects) {
		return false
	}
	most := MaxAnswerBytes
	if b.AnswerMost > 0 {
		most = min(most, b.AnswerMost)
	}
	b.tx.room = min(most, b.AnswerBytes-b.answered)
	b.tx.partial = b.tx.room < most
	return b.enough || b.tx.room <= 0
}

// holdAnswer clears the answer of a call that only reads. All later such calls get no answer
// either.
func (b *Batch) holdAnswer(i int, c *Call) {
	c.Answer, b.Decisions[i] = nil, Decision{}
	b.Held, b.enough = true, true
}

// countAnswer adds the length of a call's answer to b.answered, or drops the answer if it is too
// long.
func (b *Batch) countAnswer(i int, c *Call) {
	bytes := max(len(c.Answer), b.tx.claimed)
	switch {
	case b.tx.refused && b.tx.partial:
		b.holdAnswer(i, c)
	case b.answered+bytes > b.AnswerBytes && bytes > shortAnswer:
		c.Answer, b.Held, b.enough = nil, true, true
	default:
		b.answered += bytes
	}
}
