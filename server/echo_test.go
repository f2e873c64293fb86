package server

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/commands"
)

// echo is a session that answers a command with its last argument, once the batch
// is executed, from the bytes that Do was given. Some commands do more:
//
//	AUTH       lifts the limits for strangers
//	NOW x      answers at once, after what is gathered
//	SLOW x     sends the batch away for a moment
//	LISTEN x   answers; from then on the client is never idle
//	TELL x     answers, and has all that listen say x
//	BIG n      answers n bytes at once
//	COUNT      answers how many were answered by all, itself included
//	NAP x      takes two milliseconds of who runs it, and answers
//	GATE       waits until echoLog.gate lets it, and blocks who runs it
//	PANIC      panics
//	QUIT       answers and closes
type echo struct {
	out      []byte
	client   commands.Client
	gathered [][][]byte
	stranger bool
	away     bool
	back     atomic.Bool
	slow     bool
	listens  atomic.Bool

	mu      sync.Mutex
	told    []byte
	closing bool
	log     *echoLog
}

// An echoLog is what the sessions of a test have in common.
type echoLog struct {
	password atomic.Bool // AUTH is needed
	answered atomic.Int64
	closed   atomic.Int64
	gate     chan struct{}

	mu   sync.Mutex
	live map[*echo]bool
}

func (l *echoLog) session(c commands.Client) Session {
	e := &echo{client: c, stranger: l.password.Load(), log: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live == nil {
		l.live = map[*echo]bool{}
	}
	l.live[e] = true
	return e
}

func (e *echo) Do(args [][]byte) bool {
	if e.away {
		return false
	}
	switch string(args[0]) {
	case "AUTH":
		e.stranger = false
	case "PANIC":
		panic("asked for")
	case "NAP":
		time.Sleep(2 * time.Millisecond)
	case "GATE":
		e.log.gate <- struct{}{}
		<-e.log.gate
	case "SLOW":
		e.slow = true
	case "LISTEN":
		e.listens.Store(true)
	case "TELL":
		e.log.tell(args[1])
	case "NOW", "BIG", "QUIT":
		if !e.Flush() {
			return false
		}
		e.reply(args)
		e.closing = string(args[0]) == "QUIT"
		return true
	}
	e.gathered = append(e.gathered, args)
	return true
}

func (e *echo) Flush() bool {
	if e.away {
		return false
	}
	if e.slow {
		e.away = true
		go func() {
			time.Sleep(time.Millisecond)
			e.back.Store(true)
			e.client.Wake()
		}()
		return false
	}
	e.execute()
	return true
}

func (e *echo) Resume() bool {
	if e.away {
		if !e.back.Swap(false) {
			return false
		}
		e.away, e.slow = false, false
		e.execute()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.out = append(e.out, e.told...)
	e.told = nil
	return true
}

func (e *echo) Listening() bool { return e.listens.Load() }

// tell has all sessions that listen put out what.
func (l *echoLog) tell(what []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := range l.live {
		if e.listens.Load() {
			e.mu.Lock()
			e.told = append(e.told, what...)
			e.mu.Unlock()
			e.client.Wake()
		}
	}
}

func (e *echo) execute() {
	for _, args := range e.gathered {
		e.reply(args)
	}
	e.gathered = e.gathered[:0]
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

func (e *echo) Pending() int        { return len(e.gathered) }
func (e *echo) Authenticated() bool { return !e.stranger }
func (e *echo) Closing() bool       { return e.closing }
func (e *echo) Output() *[]byte     { return &e.out }

func (e *echo) Close() {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	if !e.log.live[e] {
		panic("closed twice")
	}
	if e.away {
		panic("closed while a batch is away")
	}
	delete(e.log.live, e)
	e.log.closed.Add(1)
}

// bulk is a reply of echo.
func bulk(s string) string { return "$" + strconv.Itoa(len(s)) + "\r\n" + s + "\r\n" }
