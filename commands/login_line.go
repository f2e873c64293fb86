package commands

import "slices"

// maxLine attempts of an address wait at once, each of which is a connection that waits.
const maxLine = 256

// A loginLine is the attempts of an address that wait for their turns, of which there is
// one a second: to be checked, or to hear that they were wrong. Names take turns, so
// that a name that many guess at holds up no other. A turn comes only while the permits
// that are kept for those who have just come are all there; so somebody who guesses,
// and waits for the answer, guesses again no sooner than these are filled up.
type loginLine struct {
	queues []*nameQueue // none is empty; the first has the next turn
	size   int
	timed  bool // somebody will call turns
}

// A nameQueue is those of a line with one pair of address and name.
type nameQueue struct {
	pair mac
	all  []*attempt
}

// unknownNameBuckets are how many names that are nobody's are told apart.
const unknownNameBuckets = 16

// pair is of a host and a name. Names that are nobody's share some, for there is no end
// of them.
func (l *logins) pair(host, name string) mac {
	if l.accounts().nameOf(name) == "" {
		name = "\x00" + string(rune(l.mac("", name, nil)[0]%unknownNameBuckets))
	}
	return l.mac(host, name, nil)
}

// admit lets an attempt that has just been sent be checked, if its address has a
// permit for it. mu is held.
func (l *logins) admit(at *attempt) bool {
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

// mark notes that a pair is being guessed at, unless the attempt proves right. mu is
// held.
func (l *logins) mark(at *attempt) {
	if l.limiter.unmarked(at.pair) {
		l.limiter.mark(at.pair)
		at.marked = true
	}
}

// push puts an attempt at the end of its nameQueue, if there is room in its line. mu is held.
func (l *logins) push(at *attempt) bool {
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

// remove takes an attempt out of its line, if it is there. mu is held.
func (l *logins) remove(at *attempt) {
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

// next takes the attempt out of a line whose turn it is. mu is held.
func (l *logins) next(n *loginLine) *attempt {
	x := n.queues[0]
	n.queues = append(slices.Delete(n.queues, 0, 1), x)
	at := x.all[0]
	l.remove(at)
	return at
}

// turns gives those of an address's line their turns who have one now, and comes back
// when the next one is due. At the end of the server all have.
func (l *logins) serveDue(host string) {
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

// lineTimer is turns for a line that waited for it, if it is still there.
func (l *logins) lineTimer(host string, n *loginLine) {
	l.mu.Lock()
	n.timed = false
	current := l.lines[host] == n
	l.mu.Unlock()
	if current {
		l.serveDue(host)
	}
}
