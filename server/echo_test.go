package server

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
)

// echo is a session that answers each command with its last argument when the batch is
// executed, from the bytes that Do was given. Some commands do more:
//
//	AUTH       lifts the limits of unauthenticated clients
//	NOW x      answers at once, after the queued commands
//	SLOW x     puts the batch in flight for a millisecond
//	HOLD x     puts the batch in flight until echoLog.barrier releases it
//	LISTEN x   answers; from then on the client is never idle
//	PUBLISH x  answers, and sends x to all clients that listen
//	BIG n      answers n bytes at once
//	COUNT      answers the number of commands answered in total, itself included
//	SLEEP x    blocks the caller for two milliseconds, and answers
//	COST us    answers as if it had been executed for so many microseconds
//	BARRIER    blocks the caller until echoLog.barrier releases it
//	WAIT x     waits until a message is published, and answers
//	PANIC      panics
//	QUIT       answers and closes
type echo struct {
	out             []byte
	client          session.Client
	queued          [][][]byte
	unauthenticated bool
	inFlight        bool
	back            atomic.Bool
	slow            bool
	holds           bool
	listens         atomic.Bool
	waits           atomic.Pointer[[][]byte] // the WAIT, until Resume
	waiting         atomic.Bool              // until a message is published

	mu        sync.Mutex
	published []byte
	closing   bool
	spent     int64
	log       *echoLog
}

// An echoLog is the state that the sessions of a test share.
type echoLog struct {
	password atomic.Bool // AUTH is required
	answered atomic.Int64
	closed   atomic.Int64
	barrier  chan struct{}

	mu   sync.Mutex
	live map[*echo]bool
}

func (l *echoLog) session(c session.Client) Session {
	e := &echo{client: c, unauthenticated: l.password.Load(), log: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live == nil {
		l.live = map[*echo]bool{}
	}
	l.live[e] = true
	return e
}

// pass blocks until the test has received from the barrier and sent to it.
func (l *echoLog) pass() {
	l.barrier <- struct{}{}
	<-l.barrier
}

func (e *echo) Do(args [][]byte) bool {
	if e.inFlight || e.Waits() {
		return false
	}
	switch string(args[0]) {
	case "AUTH":
		e.unauthenticated = false
	case "PANIC":
		panic("asked for")
	case "SLEEP":
		time.Sleep(2 * time.Millisecond)
	case "COST":
		micros, _ := strconv.ParseInt(string(args[1]), 10, 64)
		e.spent += micros * 1000
	case "BARRIER":
		e.log.pass()
	case "SLOW":
		e.slow = true
	case "HOLD":
		e.slow, e.holds = true, true
	case "LISTEN":
		e.listens.Store(true)
	case "PUBLISH":
		e.log.publish(args[1])
	case "WAIT":
		if !e.Flush() {
			return false
		}
		e.waits.Store(&[][]byte{[]byte("WAIT"), slices.Clone(args[1])})
		e.waiting.Store(true)
		return true
	case "NOW", "BIG", "QUIT":
		if !e.Flush() {
			return false
		}
		e.reply(args)
		e.closing = string(args[0]) == "QUIT"
		return true
	}
	e.queued = append(e.queued, args)
	return true
}

func (e *echo) Flush() bool {
	if e.inFlight {
		return false
	}
	if e.slow {
		e.inFlight = true
		wait := func() { time.Sleep(time.Millisecond) }
		if e.holds {
			wait = e.log.pass
		}
		go func() {
			wait()
			e.back.Store(true)
			e.client.Wake()
		}()
		return false
	}
	e.execute()
	return true
}

func (e *echo) Resume() bool {
	if e.inFlight {
		if !e.back.Swap(false) {
			return false
		}
		e.inFlight, e.slow, e.holds = false, false, false
		e.execute()
	}
	if e.Waits() && !e.waiting.Load() {
		e.reply(*e.waits.Swap(nil))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.out = append(e.out, e.published...)
	e.published = nil
	return true
}

func (e *echo) Listening() bool { return e.listens.Load() || e.Waits() }
func (e *echo) Waits() bool     { return e.waits.Load() != nil }
func (e *echo) Paused() bool    { return false }
func (e *echo) Continue() bool  { return true }

// publish sends a message to all sessions that listen.
func (l *echoLog) publish(message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := range l.live {
		if e.waiting.Swap(false) {
			e.client.Wake()
		}
		if e.listens.Load() {
			e.mu.Lock()
			e.published = append(e.published, message...)
			e.mu.Unlock()
			e.client.Wake()
		}
	}
}

func (e *echo) execute() {
	for _, args := range e.queued {
		e.reply(args)
	}
	e.queued = e.queued[:0]
}

func (e *echo) reply(args [][]byte) {
	answered := e.log.answered.Add(1)
	last := args[len(args)-1]
	if string(args[0]) == "COUNT" {
		last = strconv.AppendInt(nil, answered, 10)
	}
	if string(args[0]) == "BIG" {
		n, _ := strconv.Atoi(string(last))
		last = make([]byte, n)
	}
	e.out = append(e.out, '$')
	e.out = strconv.AppendInt(e.out, int64(len(last)), 10)
	e.out = append(e.out, "\r\n"...)
	e.out = append(e.out, last...)
	e.out = append(e.out, "\r\n"...)
}

func (e *echo) ProtocolError(text string) {
	e.out = append(e.out, "-ERR "+text+"\r\n"...)
	e.closing = true
}

func (e *echo) Spent() int64 { return e.spent }

// MayBeLong reports true for COST: its size does not bound its work.
func (e *echo) MayBeLong(args [][]byte) bool { return string(args[0]) == "COST" }

func (e *echo) Pending() int        { return len(e.queued) }
func (e *echo) Authenticated() bool { return !e.unauthenticated }
func (e *echo) Closing() bool       { return e.closing }
func (e *echo) Output() *[]byte     { return &e.out }

func (e *echo) Close() {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	if !e.log.live[e] {
		panic("closed twice")
	}
	if e.inFlight {
		panic("closed while a batch is in flight")
	}
	delete(e.log.live, e)
	e.log.closed.Add(1)
}

// bulk returns a reply of echo.
func bulk(s string) string { return "$" + strconv.Itoa(len(s)) + "\r\n" + s + "\r\n" }

// array returns a command as clients send it.
func array(args ...string) string {
	var w resp.Writer
	w.BulkStrings(args)
	return string(w.Buf)
}

// waiting returns the number of sessions that wait.
func (l *echoLog) waiting() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := range l.live {
		if e.waiting.Load() {
			n++
		}
	}
	return n
}
