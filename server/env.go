package server

import (
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/internal/fatal"
)

// maxClientsReply is the reply to a connection beyond MaxClients, in Redis' text.
const maxClientsReply = "-ERR max number of clients reached\r\n"

// An env is the part of a Server that its transports use: the settings, the coarse clock,
// the counts, and the start and end of sessions. Concurrency: any goroutine may use it.
type env struct {
	cfg         Config
	log         *slog.Logger
	traffic     [][]traffic // for each transport: one for each loop, or some for all goroutines
	plainTLSLog sampledLog  // TLS handshakes on a plain port
	httpLog     sampledLog  // HTTP requests

	clients, connections, rejected atomic.Int64
	rejectedHTTP                   atomic.Int64
	room                           *session.Room // counts the output that clients have not read

	// Settings that may change while the server runs.
	maxClients                atomic.Int64
	idleTimeout, writeTimeout atomic.Int64 // nanoseconds

	threadTime func() int64 // threadTime, or a test's

	clock   atomic.Int64  // nanoseconds of running since the start, as of the last sweep; never 0
	closing chan struct{} // closed by the first Shutdown
}

// initConn creates the session of a connection between two addresses. It returns an error if that panics.
func (e *env) initConn(c *conn, client, local string, traffic *traffic, wake, kill func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			e.logPanic(p)
			err = fmt.Errorf("new session: %v", p)
		}
	}()
	c.limits, c.threadTime = &e.cfg.Limits, e.threadTime
	c.traffic = traffic
	c.client = client
	c.active.Store(e.clock.Load())
	c.session = e.cfg.NewSession(session.Client{
		Addr:      client,
		LocalAddr: local,
		Since:     time.Now(),
		Close:     kill,
		Wake:      wake,

		OutputBytes: e.cfg.Limits.OutputBytes,
		Buffers:     c.buffers,
	})
	return nil
}

// commit is called between executing and writing. A panic in it ends the process.
func (e *env) commit() {
	if e.cfg.Commit != nil {
		defer fatal.OnPanic()
		e.cfg.Commit()
	}
}

// closeSession closes the session of a closed connection and counts the connection's end.
func (e *env) closeSession(c *conn) {
	defer e.recoverPanic()
	e.clients.Add(-1)
	switch c.in.Problem() {
	case resp.ProblemTLS:
		e.plainTLSLog.add(c.client, "TLS is served on its own port, if enabled")
	case resp.ProblemHTTP:
		e.rejectedHTTP.Add(1)
		e.httpLog.add(c.client, "sent by a web page, a probe or a proxy; nothing was executed")
	}
	c.session.Close()
}

// advanceClock advances the clock by the time since the last sweep, and by two intervals at
// most: while the process or its machine was stopped, clients could not act.
func (e *env) advanceClock(passed, interval time.Duration) {
	e.clock.Add(int64(min(passed, 2*interval)))
}

// whyIdle is the reason to close the connection of an idle client.
const whyIdle = "idle"

// closeReason returns the reason to close a connection now, and the timeout that is over, or
// "". A client is idle while it sends nothing and waits for nothing: from the end of its last
// command, or, if the socket did not take the replies, from the time that it has taken all.
func (e *env) closeReason(c *conn) (why string, timeout time.Duration) {
	now, blocked, idle, write := e.clock.Load(), c.blocked.Load(), e.idleTimeout.Load(), e.writeTimeout.Load()
	switch {
	case blocked != 0 && now-blocked > write:
		return "the client does not read its replies", time.Duration(write)
	case blocked == 0 && idle > 0 && !c.session.Listening() && now-c.active.Load() > idle:
		return whyIdle, time.Duration(idle)
	}
	return "", 0
}

// mustClose reports, and logs, whether to close an overdue connection now. A client is not idle if
// it has sent a command while its goroutine or loop was busy.
func (e *env) mustClose(c *conn) bool {
	why, timeout := e.closeReason(c)
	if why == "" || why == whyIdle && hasUnread(c.gauges.fd) {
		return false
	}
	e.log.Info("connection closed", "client", c.client, "why", why, "timeout", timeout)
	return true
}

// admitClient counts a client, and returns false beyond MaxClients.
func (e *env) admitClient() bool {
	if e.clients.Add(1) <= e.maxClients.Load() {
		return true
	}
	e.clients.Add(-1)
	e.rejected.Add(1)
	return false
}

// admitConn counts nc as a client. Beyond MaxClients it sends maxClientsReply, closes nc
// and returns false.
func (e *env) admitConn(nc net.Conn) bool {
	if e.admitClient() {
		return true
	}
	// the send buffer of a new socket is empty, so this does not block
	_ = nc.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = nc.Write([]byte(maxClientsReply))
	nc.Close()
	return false
}

// newTraffic creates the n counters of a transport.
func (e *env) newTraffic(n int) []traffic {
	counters := make([]traffic, n)
	e.traffic = append(e.traffic, counters)
	return counters
}

// recoverPanic is deferred around all calls of a session, so that a panic there ends a
// connection and not the server. Panics of a batch or of the engine end the process before
// they get here, see session.Handler.
func (e *env) recoverPanic() {
	if p := recover(); p != nil {
		e.logPanic(p)
	}
}

// logPanic logs a recovered panic. Requires: the stack of the panic is still there.
func (e *env) logPanic(p any) {
	e.log.Error("session panicked, connection closed", "panic", p, "stack", string(debug.Stack()))
}

// clientAddr returns addr as CLIENT LIST shows it. Both ends of a unix socket are shown
// by its path, because the client's end has no name.
func clientAddr(addr, local net.Addr) string {
	if local.Network() == "unix" {
		return local.String() + ":0"
	}
	return addr.String()
}
