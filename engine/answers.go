package engine

// MaxAnswerBytes bounds the answer of a call in bytes, from level 2 on. It is more than the longest
// string has. All nodes and replays have the same bound, because a call with a longer answer changes
// nothing.
const MaxAnswerBytes = 20 << 20

const (
	// unboundedAnswer is the room of answers at level 1.
	unboundedAnswer = 1 << 40
	// shortAnswer is the length in bytes up to which an answer of a call that writes is never
	// dropped, because its effects can not be taken back.
	shortAnswer = 4 << 10
)

// AnswerRoom returns the bytes that the answer of the call may have, in the longer one of the
// protocols' forms. A command must count a long answer before it appends it, and
// before it changes anything. It must return an error instead of a longer answer.
func (tx *Tx) AnswerRoom() int {
	if tx.level == 1 {
		return unboundedAnswer
	}
	return tx.room
}

// ClaimAnswer notes the bytes of the answer, if they are more than it has in the engine.
func (tx *Tx) ClaimAnswer(bytes int) { tx.claimed = bytes }

// RefuseAnswer notes that the answer of the call is an error because it would be longer than
// AnswerRoom.
func (tx *Tx) RefuseAnswer() { tx.refused = true }

// WholeAnswers makes AnswerRoom MaxAnswerBytes again. It is for calls that make other calls, each
// with an answer.
func (tx *Tx) WholeAnswers() { tx.room, tx.partial = MaxAnswerBytes, false }

// MaxAtomicWork bounds the work of the calls of a batch that is Atomic, in visits to an element, from
// level 2 on: a call on plain values, or a run, that would begin beyond it changes nothing, and answers
// an error. It is some 0.3 s.
const MaxAtomicWork = 8 << 20

// Exhausted reports whether the calls of the batch before this one have taken MaxAtomicWork. Then the
// call must change nothing.
func (tx *Tx) Exhausted() bool { return tx.exhausted }

// exhausts reports whether a call of an Atomic batch must not be carried out. Calls that write count
// their own work only, because replays of a log may lack the others.
func (e *Engine) exhausts(b *Batch, c *Call) bool {
	if b.readOnly || c.ReadOnly {
		return b.visited+b.changing >= MaxAtomicWork && (b.readOnly || !e.effects)
	}
	return b.changing >= MaxAtomicWork && b.tx.Level() > 1
}

// countWork counts the work of a call that has been carried out.
func (b *Batch) countWork(c *Call) {
	if c.ReadOnly {
		b.visited += b.tx.work
		return
	}
	b.changing += b.tx.work
}

// holdBack sets the room of a call in a batch with AnswerBytes, and reports whether the call must
// not be carried out.
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

// holdAnswer leaves a call that only reads without an answer, and those that follow.
func (b *Batch) holdAnswer(i int, c *Call) {
	c.Answer, b.Decisions[i] = nil, Decision{}
	b.Held, b.enough = true, true
}

// countAnswer counts the answer of a call, and drops it if it is too long.
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
