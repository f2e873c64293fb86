package replication

import (
	"errors"
	"net"
	"sync"
	"time"
)

// A refusal says why a node does not take a link.
type refusal struct {
	reason refusalReason
	text   string
}

func (r *refusal) Error() string { return r.text }

// A refusalReason is one that is told apart in the log.
type refusalReason uint8

const (
	reasonGarbled refusalReason = iota
	reasonTLS
	reasonVersion
	reasonNode
	reasonOtherCluster
	reasonBusy
	reasonSecret
	reasonNoSecret
	reasonNotYet
	reasonTampered
)

const (
	// refusalEvery is how often a refusal of a host for one reason is logged.
	refusalEvery = time.Minute
	// maxRefusals is how many of them are remembered.
	maxRefusals = 1024
)

// refusals remember what was logged lately.
type refusals struct {
	mu   sync.Mutex
	last map[refusalKey]time.Time
}

type refusalKey struct {
	host   string
	reason refusalReason
}

// isNews says whether a refusal is to be logged: once in a while, and not at all while
// those of too many others are remembered.
func (r *refusals) shouldLog(host string, reason refusalReason, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := refusalKey{host, reason}
	if last, ok := r.last[key]; ok && now.Sub(last) < refusalEvery {
		return false
	}
	if len(r.last) >= maxRefusals {
		for k, last := range r.last {
			if now.Sub(last) >= refusalEvery {
				delete(r.last, k)
			}
		}
		if len(r.last) >= maxRefusals {
			return false
		}
	}
	if r.last == nil {
		r.last = make(map[refusalKey]time.Time)
	}
	r.last[key] = now
	return true
}

// refused counts and logs that a link was not taken, or was closed. A node that is about to
// take its seat is no news: the leader is there first.
func (l *links) refused(conn net.Conn, why *refusal) {
	if why.reason == reasonNotYet {
		l.o.log.Debug("a link comes too early", "address", conn.RemoteAddr().String(), "reason", why.text)
		return
	}
	l.refusedLinks.Add(1)
	if l.refusals.shouldLog(remoteHost(conn), why.reason, time.Now()) {
		l.o.log.Warn("refused a link of another node", "address", conn.RemoteAddr().String(), "reason", why.text)
	}
}

// remoteHost is the host of the other side.
func remoteHost(conn net.Conn) string {
	address := conn.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// broken logs a link that ended with an error, if that is a *refusal: that it broke is
// no news.
func (l *links) broken(conn net.Conn, err error) {
	var r *refusal
	if errors.As(err, &r) {
		l.refused(conn, r)
	}
}

// tampered logs a link that is closed because a record of it does not open.
func (l *links) logTampered(conn net.Conn) {
	l.refused(conn, &refusal{reasonTampered, errTampered.Error()})
}
