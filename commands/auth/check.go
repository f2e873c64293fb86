package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"runtime"
)

// start checks an attempt, or adds it to a check of the same name and password in
// progress.
func (l *Logins) start(at *attempt) {
	l.mu.Lock()
	if first := l.checking[at.credentialKey]; first != nil {
		first.duplicates = append(first.duplicates, at)
		l.mu.Unlock()
		return
	}
	l.checking[at.credentialKey] = at
	l.mu.Unlock()
	l.check(at)
}

// check completes an attempt at once if that needs no hash, otherwise queues it.
func (l *Logins) check(at *attempt) {
	r := l.current.Load()
	a := r.byName[at.name]
	switch {
	case a != nil && a.isRemembered(at.credentialKey):
		l.complete(at, r, a, nil)
	case at.name == DefaultUser && r.password != nil:
		given := sha256.Sum256(at.password)
		if subtle.ConstantTimeCompare(given[:], r.password[:]) == 0 {
			a = nil
		}
		l.complete(at, r, a, ErrWrongPass)
	case r.users == nil:
		l.complete(at, r, nil, ErrWrongPass)
	default:
		l.enqueue(at, r)
	}
}

func (l *Logins) enqueue(at *attempt, r *accounts) {
	l.mu.Lock()
	switch {
	case l.ended:
		l.mu.Unlock()
		l.complete(at, r, nil, errEnding)
		return
	case len(l.queue) >= maxHashQueue:
		l.mu.Unlock()
		l.timers.schedule(refusalDelay, func() { l.complete(at, r, nil, errTooManyLogins) })
		return
	}
	l.queue = append(l.queue, at)
	start := l.working < max(1, min(maxHashWorkers, runtime.NumCPU()/2-1))
	if start {
		l.working++
	}
	l.mu.Unlock()
	if start {
		l.config.Spawn(l.work)
	}
}

// work checks queued attempts until the queue is empty.
func (l *Logins) work() {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.working--
			l.queue = nil
			l.mu.Unlock()
			return
		}
		at := l.queue[0]
		l.queue = l.queue[1:]
		l.mu.Unlock()
		l.verify(at)
	}
}

// verify checks a password against the hashes of its user. For an unknown name it checks
// against the hashes of a dummy user, always the same user for a name, so that the time
// does not reveal that the name is unknown.
func (l *Logins) verify(at *attempt) {
	r := l.current.Load()
	a := r.byName[at.name]
	if a != nil && a.user == nil { // the default user, which has no hash; accounts changed since it was queued
		l.check(at)
		return
	}
	u := r.dummyUser(l.key.mac("", at.name, nil))
	if a != nil {
		u = a.user
	}
	if right := l.checkHash(u, at.password); !right {
		a = nil
	}
	l.complete(at, r, a, ErrWrongPass)
}
