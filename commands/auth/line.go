package auth

import "slices"

// maxLine bounds the waiting attempts of an address; each holds a connection.
const maxLine = 256

// A loginLine is the queue of one address. It serves one attempt a second: to be checked,
// or to receive the result of an early check. Names take turns, so that one name under
// attack delays no other. A turn needs all the tokens reserved for new attempts to be
// there; therefore a client that guesses, and waits for each answer, guesses at the rate
// at which these are refilled.
type loginLine struct {
	queues []*nameQueue // none is empty; the first has the next turn
	size   int
	timed  bool // a call of serveDue is scheduled
}

// A nameQueue holds the attempts of a line with one pair of address and name.
type nameQueue struct {
	pair mac
	all  []*attempt
}

// unknownNameBuckets is the number of pairs that all unknown names of an address share.
const unknownNameBuckets = 16

// pair digests a host and a name. Unknown names share pairs, because their number is
// unbounded.
func (l *Logins) pair(host, name string) mac {
	if l.current.Load().nameOf(name) == "" {
		name = "\x00" + string(rune(l.mac("", name, nil)[0]%unknownNameBuckets))
	}
	return l.mac(host, name, nil)
}

// admit reports whether a new attempt may be checked now because its address has a token
// for it. Requires: l.mu is held.
func (l *Logins) admit(at *attempt) bool {
	if l.lines[at.host] == nil && l.limiter.tryTake(at.host, turnLeast) {
		l.mark(at)
		return true
	}
	unmarked, returned := l.limiter.unmarked(at.pair), l.limiter.takeReturned(at.host)
	least := newcomerLeast
	switch {
	case !unmarked && returned:
		return false
	case !unmarked:
		least = guessedLeast
	case returned:
		least = returnedLeast
	}
	if !l.limiter.tryTake(at.host, least) {
		return false
	}
	at.early = true
	l.remove(at)
	l.mark(at)
	return true
}

// mark records a guess at a pair; it is undone if the password is right. Requires: l.mu
// is held.
func (l *Logins) mark(at *attempt) {
	if l.limiter.unmarked(at.pair) {
		l.limiter.mark(at.pair)
		at.marked = true
	}
}

// push appends an attempt to its name's queue, if its line has room. Requires: l.mu is
// held.
func (l *Logins) push(at *attempt) bool {
	n := l.lines[at.host]
	if n == nil {
		n = &loginLine{}
		l.lines[at.host] = n
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

// remove takes an attempt out of its line if it is in there. Requires: l.mu is held.
func (l *Logins) remove(at *attempt) {
	if !at.queued {
		return
	}
	at.queued = false
	n := l.lines[at.host]
	i := slices.IndexFunc(n.queues, func(x *nameQueue) bool { return x.pair == at.pair })
	x := n.queues[i]
	x.all = slices.DeleteFunc(x.all, func(one *attempt) bool { return one == at })
	if len(x.all) == 0 {
		n.queues = slices.Delete(n.queues, i, i+1)
	}
	if n.size--; n.size == 0 {
		delete(l.lines, at.host)
	}
}

// next removes and returns the attempt with the next turn. Requires: l.mu is held.
func (l *Logins) next(n *loginLine) *attempt {
	x := n.queues[0]
	n.queues = append(slices.Delete(n.queues, 0, 1), x)
	at := x.all[0]
	l.remove(at)
	return at
}

// serveDue serves the attempts of an address that have their turn now, and schedules
// itself for the next turn. At shutdown all are served.
func (l *Logins) serveDue(host string) {
	l.mu.Lock()
	n := l.lines[host]
	var due []*attempt
	for n != nil && n.size > 0 {
		if wait, ok := l.limiter.take(host, turnLeast); !ok && !l.ended {
			if n.timed {
				break
			}
			n.timed = true
			defer l.schedule(wait, func() { l.lineTimer(host, n) })
			break
		}
		at := l.next(n)
		if at.err == nil {
			l.mark(at)
			at.early = false
		}
		due = append(due, at)
	}
	ended := l.ended
	l.mu.Unlock()
	for _, at := range due {
		switch {
		case at.err != nil:
			l.answer(at, nil, at.err)
		case ended:
			l.finish(at, nil, errEnding)
		default:
			l.start(at)
		}
	}
}

// lineTimer is a scheduled serveDue; it does nothing if the line has been removed.
func (l *Logins) lineTimer(host string, n *loginLine) {
	l.mu.Lock()
	n.timed = false
	current := l.lines[host] == n
	l.mu.Unlock()
	if current {
		l.serveDue(host)
	}
}
