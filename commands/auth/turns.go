package auth

// unknownNameBuckets is the number of pairs that all unknown names of an address share.
const unknownNameBuckets = 16

// pair digests a host and a name. Unknown names share pairs, because their number is
// unbounded.
func (l *Logins) pair(host, name string) mac {
	if l.current.Load().nameOf(name) == "" {
		name = "\x00" + string(rune(l.key.mac("", name, nil)[0]%unknownNameBuckets))
	}
	return l.key.mac(host, name, nil)
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
	l.lines.remove(at)
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
			defer l.timers.schedule(wait, func() { l.lineTimer(host, n) })
			break
		}
		at := l.lines.next(n)
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
