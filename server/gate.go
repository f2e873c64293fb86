package server

import "sync"

// A gate admits few connections at a time to their turns, in the order of their arrival. New
// connections together have as much time as known connections, so that a client that connects
// does not wait for the long turns of all known clients. Concurrency: any goroutine.
type gate struct {
	mu      sync.Mutex
	free    int                // connections that may still enter
	waiting [2][]chan struct{} // of known connections, and of new connections
	spent   [2]int64           // nanoseconds of their turns since connections of one list waited alone
}

// Indexes of gate.waiting.
const (
	knownClients = iota
	newClients
)

// enter blocks until the connection is admitted. admitted, which has a capacity of 1 and is empty,
// is for the gate until then. Each enter must be followed by a leave.
func (g *gate) enter(list int, admitted chan struct{}) {
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return
	}
	g.waiting[list] = append(g.waiting[list], admitted)
	g.mu.Unlock()
	<-admitted
}

// leave admits the next connection after a turn of a connection of a list.
func (g *gate) leave(list int, nanos int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spent[list] += nanos
	next := newClients
	switch known := len(g.waiting[knownClients]) > 0; {
	case !known && len(g.waiting[newClients]) == 0:
		g.free++
		return
	case len(g.waiting[newClients]) == 0:
		next, g.spent = knownClients, [2]int64{}
	case !known:
		g.spent = [2]int64{}
	case g.spent[knownClients] < g.spent[newClients]:
		next = knownClients
	}
	first := g.waiting[next][0]
	g.waiting[next][0] = nil
	g.waiting[next] = g.waiting[next][1:]
	first <- struct{}{}
}
