package auth

import "slices"

// maxLine bounds the waiting attempts of an address; each holds a connection.
const maxLine = 256

// loginLines are the lines that are not empty, by address. Logins.mu guards them.
type loginLines map[string]*loginLine

// A loginLine is the queue of an address. It serves an attempt a second: to be checked, or
// to receive the result of an early check. Names take turns, so that a name under attack
// delays no other name. A turn needs all the tokens reserved for new attempts to be there;
// therefore a client that guesses, and waits for each answer, guesses at the refill rate of
// these tokens.
type loginLine struct {
	queues []*nameQueue // no queue is empty; the first has the next turn
	size   int
	timed  bool // a call of serveDue is scheduled
}

// A nameQueue holds the attempts of a line with one pair of address and name.
type nameQueue struct {
	pair mac
	all  []*attempt
}

// push appends an attempt to its name's queue, if its line has room.
func (l loginLines) push(at *attempt) bool {
	n := l[at.host]
	if n == nil {
		n = &loginLine{}
		l[at.host] = n
	}
	if n.size >= maxLine {
		return false
	}
	i := slices.IndexFunc(n.queues, func(x *nameQueue) bool { return x.pair == at.pair })
	if i < 0 {
		i = len(n.queues)
		n.queues = append(n.queues, &nameQueue{pair: at.pair})
	}
	n.queues[i].all = append(n.queues[i].all, at)
	n.size++
	at.queued = true
	return true
}

// remove takes an attempt out of its line if it is in there.
func (l loginLines) remove(at *attempt) {
	if !at.queued {
		return
	}
	at.queued = false
	n := l[at.host]
	i := slices.IndexFunc(n.queues, func(x *nameQueue) bool { return x.pair == at.pair })
	x := n.queues[i]
	x.all = slices.DeleteFunc(x.all, func(one *attempt) bool { return one == at })
	if len(x.all) == 0 {
		n.queues = slices.Delete(n.queues, i, i+1)
	}
	if n.size--; n.size == 0 {
		delete(l, at.host)
	}
}

// next removes and returns the attempt with the next turn.
func (l loginLines) next(n *loginLine) *attempt {
	x := n.queues[0]
	n.queues = append(slices.Delete(n.queues, 0, 1), x)
	at := x.all[0]
	l.remove(at)
	return at
}
