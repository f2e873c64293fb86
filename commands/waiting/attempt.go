package waiting

import (
	"math"
	"slices"
	"time"

	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// An attempt is a batch of calls that take elements for clients, or give some back.
type attempt struct {
	batch engine.Batch
	tries []try // a try for each call
}

// A try is a call of an attempt.
type try struct {
	w *Client // nil: the call gives an element back
	// line is the line of the key; nil: the call is for all keys of w.
	line *line
}

// add adds a call that takes an element for w.
func (a *attempt) add(w *Client, args [][]byte, l *line) {
	if err := w.Command.Take(&a.batch, args); err != nil {
		panic(err) // the calls of commands that wait check their arguments when applied
	}
	a.batch.Ops[len(a.tries)].DB = w.DB
	a.tries = append(a.tries, try{w, l})
}

// giveBack adds a call that gives an element of w's command back to its list.
func (a *attempt) giveBack(w *Client, key, element []byte) {
	w.Command.Return(&a.batch, key, element)
	a.batch.Ops[len(a.tries)].DB = w.DB
	a.tries = append(a.tries, try{})
}

// run executes an attempt, unless it is empty, and those that follow from it.
func (ls *Lines) run(a *attempt) {
	if len(a.tries) > 0 {
		ls.c.Do(&a.batch, func(err error) { ls.settle(a, err) })
	}
}

// settle deals with the outcome of an attempt.
func (ls *Lines) settle(a *attempt, err error) {
	var over []*Client
	next := new(attempt)
	ls.mu.Lock()
	for i := range a.tries {
		if w := ls.settleTry(next, a, i, err); w != nil && !w.joining {
			over = append(over, w)
		}
	}
	ls.mu.Unlock()
	for _, w := range over {
		w.Wake()
	}
	ls.run(next)
}

// settleTry deals with the outcome of the i-th call of an attempt, and adds calls that follow
// from it to next. It returns the client that is over now, or nil. Requires: mu is held.
func (ls *Lines) settleTry(next, a *attempt, i int, err error) (over *Client) {
	t := &a.tries[i]
	if t.w == nil {
		ls.settleReturn(a, i, err)
		return nil
	}
	w, reply := t.w, a.batch.Calls[i].Answer
	w.attempting = false
	if err == nil && a.batch.Decisions[i].Status == engine.Down {
		err = ls.c.Down
	}
	if err != nil && t.line != nil {
		ls.growLater(t.line)
	}
	switch v, rest, _ := answer.Next(reply); {
	case w.gone && err != nil:
		return nil
	case err == ls.c.Down && t.line != nil: // it waits on
	case err != nil:
		ls.finish(w, nil, err)
		return w
	case v.Kind == answer.Array:
		key, rest, _ := answer.Next(rest)
		element, _, _ := answer.Next(rest)
		if over = ls.deliver(next, t, key.Bytes, element.Bytes, reply); over == w || w.gone {
			return over
		}
	case v.Kind == answer.Error && t.line == nil && !w.gone:
		ls.finish(w, slices.Clone(reply), nil)
		return w
	}
	switch {
	case w.gone:
	case w.ending != nil:
		ls.finish(w, nil, w.ending.err)
		return w
	default:
		ls.try(next, w)
	}
	return over
}

// deliver ends a waiter with an element that a call has taken: the waiter that made the call.
// If that waiter is gone, or has tried all its keys while other waiters have waited for this
// key for longer, then the first in line ends, and the caller's waiter goes on. Without a
// waiter the element goes back to its list. Requires: mu is held.
func (ls *Lines) deliver(next *attempt, t *try, key, element, reply []byte) (over *Client) {
	over = t.w
	if t.w.gone || t.line == nil {
		over = nil
		if l := ls.lines[t.w.DB][string(key)]; l != nil {
			over = l.longest(t.w)
		}
	}
	if over == nil {
		next.giveBack(t.w, key, element)
		return nil
	}
	t.w.again = over != t.w
	ls.finish(over, slices.Clone(reply), nil)
	return over
}

// settleReturn deals with the outcome of a call that gives an element back.
func (ls *Lines) settleReturn(a *attempt, i int, err error) {
	c, db := &a.batch.Calls[i], a.batch.Ops[i].DB
	switch {
	case err == nil && a.batch.Decisions[i].Status == engine.Down:
		again := new(attempt)
		call := again.batch.AddCall(db)
		call.Command, call.Args = c.Command, c.Args
		again.tries = []try{{}}
		time.AfterFunc(retryAfter, func() { ls.run(again) })
	case err != nil || answer.IsError(c.Answer):
		ls.c.Log.Warn("an element that a client took and did not wait for is lost", "db", db, "key", string(c.Args[0]),
			"error", err, "answer", string(c.Answer))
	}
}

// growLater has a line tried again after a time.
func (ls *Lines) growLater(l *line) {
	time.AfterFunc(retryAfter, func() { ls.Grew([]engine.Growth{{DB: l.db, Key: []byte(l.key), Count: math.MaxInt}}) })
}
