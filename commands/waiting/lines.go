package waiting

import (
	"container/list"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/engine"
)

// A Config has the parts that [Lines] use.
type Config struct {
	// Do executes a batch and calls done once, from any goroutine. Gather does so for an event
	// loop, see backend.Executor. Neither blocks.
	Do, Gather func(b *engine.Batch, done func(error))
	// Watch adds to the number of clients that wait, see engine.Notices.
	Watch func(clients int64)
	Down  error // the reply of a call that was not decided
	Log   *slog.Logger
}

// Lines are the clients of this node that wait, in a line for each key, in the order of their
// arrival. Concurrency: any goroutine may call its methods. No lock is held while a batch is
// executed or a client is woken.
type Lines struct {
	c     Config
	count atomic.Int64 // clients in lines

	mu      sync.Mutex
	lines   [engine.Databases]map[string]*line // by key; guarded by mu, as all that they refer to
	growths uint64                             // number of the last growth of a line's list
	ended   bool                               // nobody waits any more
}

// A line has the clients that wait for the elements of one list.
type line struct {
	db      uint8
	key     string
	clients list.List // of *Client
	grown   uint64    // number of the last growth of its list
}

// A Command takes an element off the list of the first key that has an element.
type Command struct {
	// Timeout reads the timeout of a line of words, 0 for no timeout, or returns an
	// *resp.Error.
	Timeout func(words [][]byte) (time.Duration, error)
	// Take appends a call for a line of words, its name, keys and a timeout: the answer is a
	// key and an element, or the nil of an array.
	Take func(b *engine.Batch, words [][]byte) error
	// Return appends a call that gives an element back to the list of a key.
	Return func(b *engine.Batch, key, element []byte)
}

// A Client waits. The exported fields are set by its owner before Join.
type Client struct {
	Command *Command
	DB      uint8
	Words   [][]byte // the line of words; they must stay unchanged
	Keys    [][]byte // the keys of Words
	Wake    func()   // is called from any goroutine when it is over; it must not block

	timer  *time.Timer
	places []place

	joining    bool // Join has not returned
	attempting bool // an attempt is in flight
	again      bool // the next attempt is for all keys
	gone       bool // Leave was called
	ending     *end // its end unless the attempt in flight takes an element; nil: it goes on

	over   bool   // it waits no more, and has its reply
	answer []byte // the reply; nil: an error, or no element
	err    error
}

// A place of a client in a line.
type place struct {
	line  *line
	at    *list.Element
	tried uint64 // growths of the list up to this growth are tried
}

// An end of the wait without an element: with an error, or with nil.
type end struct{ err error }

// New returns lines without clients.
func New(c Config) *Lines { return &Lines{c: c} }

// Waiting returns the number of clients that wait.
func (ls *Lines) Waiting() int64 { return ls.count.Load() }

// retryAfter is the time until a line is tried again if a call for it was not decided.
const retryAfter = 100 * time.Millisecond

// slack is added to timeouts. Redis ends a wait at its next tick, up to 100 ms late, and a
// client that measures in whole milliseconds takes an end exactly at the timeout for an
// element. Without slack 4 of 6 runs of self-limiters 0.4 allowed too many requests, with it
// 0 of 8.
const slack = 10 * time.Millisecond

// Join makes w wait for its keys, up to a timeout, 0 for ever, and begins its first attempt.
// Only an event loop calls it, see Config.Gather. It must then ask for the Reply: if w is over before
// Join returns, it is not woken.
func (ls *Lines) Join(w *Client, timeout time.Duration) {
	ls.mu.Lock()
	ls.count.Add(1)
	ls.c.Watch(1) // before the attempt, so that no growth after it is missed
	for _, key := range w.Keys {
		l := ls.lineOf(w.DB, string(key))
		if last := l.clients.Back(); last == nil || last.Value != w {
			w.places = append(w.places, place{l, l.clients.PushBack(w), l.grown})
		}
	}
	w.again, w.joining = true, true
	if ls.ended {
		w.ending = &end{}
	} else if timeout > 0 {
		w.timer = time.AfterFunc(timeout+slack, func() { ls.End(w, nil) })
	}
	a := new(attempt)
	ls.try(a, w)
	ls.mu.Unlock()
	ls.c.Gather(&a.batch, func(err error) { ls.settle(a, err) })
	ls.mu.Lock()
	w.joining = false
	ls.mu.Unlock()
}

// lineOf returns the line of a key, which is made if needed.
func (ls *Lines) lineOf(db uint8, key string) *line {
	if ls.lines[db] == nil {
		ls.lines[db] = make(map[string]*line)
	}
	l := ls.lines[db][key]
	if l == nil {
		l = &line{db: db, key: key}
		ls.lines[db][key] = l
	}
	return l
}

// remove takes w out of its lines. Requires: it is in them, and mu is held.
func (ls *Lines) remove(w *Client) {
	for _, p := range w.places {
		p.line.clients.Remove(p.at)
		if p.line.clients.Len() == 0 {
			delete(ls.lines[p.line.db], p.line.key)
		}
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	ls.count.Add(-1)
	ls.c.Watch(-1)
}

// finish ends w with a reply. Requires: mu is held, and w is not over. The caller must call
// w.Wake without mu.
func (ls *Lines) finish(w *Client, answer []byte, err error) {
	ls.remove(w)
	w.over, w.answer, w.err = true, answer, err
}

// End ends the wait of w without an element, with an error or with nil; if an attempt is in
// flight, after that. It reports whether w was waiting.
func (ls *Lines) End(w *Client, err error) bool {
	ls.mu.Lock()
	if w.over || w.gone || w.ending != nil {
		ls.mu.Unlock()
		return false
	}
	w.ending = &end{err}
	over := !w.attempting
	if over {
		ls.finish(w, nil, err)
	}
	wakes := over && !w.joining
	ls.mu.Unlock()
	if wakes {
		w.Wake()
	}
	return true
}

// Reply returns the reply of w: an error, or an answer, which is nil if there is no element.
// over is false while w waits.
func (ls *Lines) Reply(w *Client) (answer []byte, err error, over bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return w.answer, w.err, w.over
}

// Leave removes a client that is closed. An element that its attempt in flight takes
// goes to the next in line, or back to the list.
func (ls *Lines) Leave(w *Client) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !w.over && !w.gone {
		w.gone = true
		ls.remove(w)
	}
}

// EndAll ends the waits of all without an element, and lets nobody wait from now on.
func (ls *Lines) EndAll() {
	ls.mu.Lock()
	ls.ended = true
	var all []*Client
	for db := range ls.lines {
		for _, l := range ls.lines[db] {
			for at := l.clients.Front(); at != nil; at = at.Next() {
				all = append(all, at.Value.(*Client))
			}
		}
	}
	ls.mu.Unlock()
	for _, w := range all {
		ls.End(w, nil)
	}
}

// Grew begins attempts for lists that have grown, see engine.Notices.HandleGrowth: for the
// lists in order, so that a client that found the first list empty again is the first for the
// next.
func (ls *Lines) Grew(lists []engine.Growth) {
	if lists == nil {
		lists = ls.all()
	}
	for _, g := range lists {
		a := new(attempt)
		ls.mu.Lock()
		if l := ls.lines[g.DB][string(g.Key)]; l != nil {
			ls.serve(a, l, g.Count)
		}
		ls.mu.Unlock()
		ls.run(a)
	}
}

// all returns the lists of all lines, with any number of elements.
func (ls *Lines) all() (lists []engine.Growth) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for db := range ls.lines {
		for key := range ls.lines[db] {
			lists = append(lists, engine.Growth{DB: uint8(db), Key: []byte(key), Count: math.MaxInt})
		}
	}
	return lists
}

// serve adds to a the attempts of the first n clients of a line without an attempt in
// flight. Requires: mu is held.
func (ls *Lines) serve(a *attempt, l *line, n int) {
	ls.growths++
	l.grown = ls.growths
	for at := l.clients.Front(); at != nil && n > 0; at = at.Next() {
		if w := at.Value.(*Client); !w.attempting {
			i := slices.IndexFunc(w.places, func(p place) bool { return p.line == l })
			ls.tryAt(a, w, &w.places[i])
			n--
		}
	}
}

// try adds to a an attempt of w, if it is due: for all its keys, or for the first of its
// lists that have grown since the last attempt. Requires: mu is held, and no attempt of w is
// in flight.
func (ls *Lines) try(a *attempt, w *Client) {
	var next *place
	for i := range w.places {
		p := &w.places[i]
		switch {
		case w.again:
			p.tried = p.line.grown
		case p.line.grown > p.tried && (next == nil || p.line.grown < next.line.grown):
			next = p
		}
	}
	switch {
	case w.again:
		a.add(w, w.Words, nil)
		w.again, w.attempting = false, true
	case next != nil:
		ls.tryAt(a, w, next)
	}
}

// tryAt adds to a an attempt of w for one of its places. Requires: as for try.
func (ls *Lines) tryAt(a *attempt, w *Client, p *place) {
	p.tried = p.line.grown
	a.add(w, [][]byte{w.Words[0], []byte(p.line.key), []byte("0")}, p.line)
	w.attempting = true
}

// longest returns the client that is the first in a line of those that may take an element of
// w's command: w itself, and clients without an attempt in flight. It may return nil.
func (l *line) longest(w *Client) *Client {
	for at := l.clients.Front(); at != nil; at = at.Next() {
		if x := at.Value.(*Client); x == w || !x.attempting && x.Command == w.Command {
			return x
		}
	}
	return nil
}
