package simtest

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"limitsrv/commands/datatypes"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// CheckPlain checks the numbers, windows and locks that clients made of plain values.
func (h *History) CheckPlain() {
	h.checkNumbers()
	h.checkPlainWindows()
	h.checkLocks()
	h.checkAdmitted()
	h.checkSpaced()
}

// nameOf returns the name of a Do's command, or an empty string for a script.
func (c *Call) nameOf(op *engine.Op) string {
	if all, n := datatypes.All(), int(c.Calls[op.N].Command); n < len(all) {
		return all[n].Name
	}
	return ""
}

// keyOf returns the first key of a Do, which is no script.
func (c *Call) keyOf(op *engine.Op) string { return string(c.Calls[op.N].Args[0]) }

// told returns the number in an answer; ok is false if the answer has no number.
func told(text string) (n int64, ok bool) {
	v, _, _ := answer.Next([]byte(text))
	switch v.Kind {
	case answer.Nil:
		return 0, true
	case answer.Integer:
		return v.Int, true
	case answer.Bulk:
		n, err := strconv.ParseInt(string(v.Bytes), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// numberModel is the sequential model of a number. An input is the number added, 0 for a
// look, an output the number told.
var numberModel = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, output any) (bool, any) {
		sum := state.(int64) + input.(int64)
		if told, ok := output.(int64); ok && told != sum {
			return false, state
		}
		return true, sum
	},
}

// A place is a key in a database.
type place struct {
	db  uint8
	key string
}

// A number is a plain value that is only counted up.
type number struct {
	place
	limit       int64 // that is never passed; math.MaxInt64: no limit
	model       porcupine.Model
	ok, unknown int64 // added
	mayLack     bool
	spans       map[int64]int64 // the call's sum before, by the sum after
	calls       []porcupine.Operation
}

func newNumber(at place, model porcupine.Model, limit int64) *number {
	return &number{place: at, model: model, limit: limit, spans: map[int64]int64{}}
}

// add adds a call that adds n if it is granted. told returns the output and the number added by an
// answer; ok is false if the answer has neither.
func (k *number) add(c *Call, input any, n int64, told func() (output any, added int64, ok bool)) {
	o := porcupine.Operation{Input: input, Call: int64(c.Called), Return: int64(c.Answered)}
	switch c.Outcome {
	case Answered:
		output, added, ok := told()
		if !ok {
			return
		}
		o.Output = output
		k.ok += added
	case Unknown:
		o.Return = math.MaxInt64
		k.unknown += n
	default:
		return
	}
	k.calls = append(k.calls, o)
	k.mayLack = k.mayLack || c.MayLack
}

// checkNumbers checks numbers from the clients' view, without the log: no number is told
// twice, which would admit more than a client's limit, and no number is lost.
func (h *History) checkNumbers() {
	numbers := map[place]*number{}
	for _, c := range h.Calls {
		for i := range c.Ops {
			op := &c.Ops[i]
			if op.Kind != engine.Do || !strings.HasPrefix(c.keyOf(op), plainPrefix) || h.Evicted[c.keyOf(op)] {
				continue
			}
			at := place{op.DB, c.keyOf(op)}
			if numbers[at] == nil {
				numbers[at] = newNumber(at, numberModel, math.MaxInt64)
			}
			h.addNumber(numbers[at], c, i)
		}
	}
	for _, k := range numbers {
		h.checkNumber(k, h.sumOf(k))
	}
}

// addNumber adds op i of a call to its number.
func (h *History) addNumber(k *number, c *Call, i int) {
	n := int64(0)
	switch op := &c.Ops[i]; c.nameOf(op) {
	case "INCR":
		n = 1
	case "INCRBY":
		n, _ = strconv.ParseInt(string(c.Calls[op.N].Args[1]), 10, 64)
	}
	k.add(c, n, n, func() (any, int64, bool) {
		sum, ok := told(c.Answers[i]) // not ok: no memory
		if ok {
			h.addSpan(k, sum, n)
		}
		return sum, n, ok
	})
}

// addSpan notes that a call added n to a number and was told the sum.
func (h *History) addSpan(k *number, sum, n int64) {
	if before, twice := k.spans[sum]; n > 0 && twice {
		h.Fault("%s was told to be %d twice, from %d and from %d", k.key, sum, before, sum-n)
	} else if n > 0 {
		k.spans[sum] = sum - n
	}
}

// sumOf returns a number at the end of the log.
func (h *History) sumOf(k *number) int64 {
	var r Request
	r.do(k.db, "GET", k.key)
	r.tag(0, make([]byte, tagBytes))
	b := r.Batch()
	h.Engine.Apply(h.Engine.Now(), b)
	sum, _ := told(answerOf(b, &b.Ops[0]))
	return sum
}

// checkNumber compares the calls on a number with each other and with the sum at the end of the
// log.
func (h *History) checkNumber(k *number, sum int64) {
	if k.ok > k.limit {
		h.Fault("%s gave %d of %d", k.key, k.ok, k.limit)
	}
	if !k.mayLack && (sum < k.ok || sum > k.ok+k.unknown) {
		h.Fault("of %s %d are used at the end, clients were given %d and perhaps %d", k.key, sum, k.ok, k.unknown)
	}
	if len(k.calls) > sample {
		h.Fault("%s was used %d times, at most %d are looked at", k.key, len(k.calls), sample)
	}
	if result := porcupine.CheckOperationsTimeout(k.model, k.calls, 10*time.Second); result != porcupine.Ok {
		h.Fault("the %d answers about %s can't be put into an order: %v", len(k.calls), k.key, result)
	}
}

// checkPlainWindows checks the numbers told in windows against the stamps: two windows of a
// key do not overlap, and each number is told once in a window. With ChangesOnly a number
// may have been told that is in no log.
func (h *History) checkPlainWindows() {
	type window struct{ count, last int64 } // last: the last millisecond
	windows := map[string]window{}
	for i := range h.Ops {
		a := &h.Ops[i]
		if a.Op.Kind != engine.Do || a.of.nameOf(a.Op) != "INCR" || !strings.HasPrefix(a.of.keyOf(a.Op), windowPrefix) ||
			h.Evicted[a.of.keyOf(a.Op)] {
			continue
		}
		n, ok := told(a.Answer)
		if !ok {
			continue // no memory
		}
		key := strconv.Itoa(int(a.Op.DB)) + a.of.keyOf(a.Op)
		w, now := windows[key], a.Stamp.Millis()
		over := now > w.last
		want := w.count + 1
		if over {
			want = 1
		}
		switch {
		case n == want && over:
			windows[key] = window{n, now + windowMillis}
		case n == want || h.ChangesOnly && n > want && !over:
			windows[key] = window{n, w.last}
		case h.ChangesOnly && over: // the window began with a number that is in no log
		default:
			h.Fault("entry %d counts %d in %s, want %d", a.Index, n, key, want)
		}
	}
}

// checkLocks finds locks that were taken while they were held.
func (h *History) checkLocks() {
	until := map[string]int64{} // the last millisecond
	for i := range h.Ops {
		a := &h.Ops[i]
		if a.Op.Kind != engine.Do || !strings.HasPrefix(a.of.keyOf(a.Op), lockPrefix) || h.Evicted[a.of.keyOf(a.Op)] {
			continue
		}
		key := a.of.keyOf(a.Op)
		if a.Answer != string(answer.OK) {
			continue
		}
		now := a.Stamp.Millis()
		if now <= until[key] {
			h.Fault("%s was taken in entry %d, %d ms before its end", key, a.Index, until[key]-now)
		}
		until[key] = now + windowMillis
	}
}
