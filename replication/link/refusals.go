package link

import (
	"errors"
	"net"
	"time"
)

const (
	// refusalEvery is the interval between log lines about refusals of a host for the same
	// reason.
	refusalEvery = time.Minute
	// maxRefusals bounds the remembered refusals.
	maxRefusals = 1024
)

// A refusalKey names the refusals that are logged together.
type refusalKey struct {
	host   string
	reason refusalReason
}

// refused counts and logs a link that was refused or closed. A node that is about to start
// raft is not counted, because the leader may connect before it has.
func (l *Links) refused(conn net.Conn, why *refusal) {
	if why.reason == reasonNotYet {
		l.o.Log.Debug("a node connected too early", "address", conn.RemoteAddr().String(), "reason", why.text)
		return
	}
	l.refusedLinks.Add(1)
	if l.refusals.Allow(refusalKey{remoteHost(conn), why.reason}) {
		l.o.Log.Warn("refused a link of another node", "address", conn.RemoteAddr().String(), "reason", why.text)
	}
}

// remoteHost returns the host of the other side.
func remoteHost(conn net.Conn) string {
	address := conn.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// broken logs a link that ended with an error, if that is a *refusal; other failures of
// links are normal.
func (l *Links) broken(conn net.Conn, err error) {
	var r *refusal
	if errors.As(err, &r) {
		l.refused(conn, r)
	}
}

// logTampered logs a link that is closed because a record failed authentication.
func (l *Links) logTampered(conn net.Conn) {
	l.refused(conn, &refusal{reasonTampered, errTampered.Error()})
}
