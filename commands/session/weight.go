package session

import (
	"cmp"
	"time"
)

// The work for a command on plain values, and its reply, may be as large as a value, and are not
// known before the command is executed. So few of them are executed before the transport may look
// at the time and the output: a batch is full at batchWeight.
const (
	batchWeight = 64
	// longWeight is the least weight of a long command: its work grows with its values. The first has
	// batchWeight, and a quarter of the last one after each batch with such commands that took less
	// than shortTime. Other commands on plain values have weight 1.
	longWeight = 4
	shortTime  = 100 * time.Microsecond
	// timedWeight is the least weight of a batch to be timed to its end, because its replies may
	// be large.
	timedWeight = 16
	// inFlightShare multiplies batchWeight for batches that another goroutine executes, because
	// each of those waits for the log or for other nodes, and the caller serves others meanwhile.
	inFlightShare = 16
)

// work is the state of a session that bounds its batches.
type work struct {
	spent    int64 // see Spent
	inFlight bool  // the last batch went in flight
	granted  int64 // Batch.Granted of the batch in flight
	long     int   // weight of the next long command; 0: batchWeight
}

// A load is the weight of the commands of a batch.
type load struct {
	weight int
	long   bool // with long commands
}

// weigh returns the least weight of a command in a batch.
func (c *Command) weigh() int {
	switch {
	case c.Flags&Plain == 0:
		return 0
	case c.Flags&Fast != 0 || c.Complexity == "O(1)":
		return 1
	}
	return longWeight
}

// addWeight adds the weight of a gathered command.
func (s *Session) addWeight(c *Spec) {
	if c.weight < longWeight {
		s.g.weight += c.weight
		return
	}
	s.g.weight, s.g.long = s.g.weight+cmp.Or(s.long, batchWeight), true
}

// full reports whether no more commands should be gathered because of their weight.
func (s *Session) full() bool {
	most := batchWeight
	if s.inFlight {
		most *= inFlightShare
	}
	return s.g.weight >= most
}

// spend adds the time since began to Spent, for a batch.
func (s *Session) spend(began int64, l load) {
	until := s.active.Load()
	if l.long || l.weight >= timedWeight {
		until = s.h.sinceStart()
	}
	if l.long {
		s.learn(until - began)
	}
	s.spent += until - began
}

// learn sets the weight of long commands after a batch with some that took so many nanoseconds.
func (s *Session) learn(took int64) {
	if took >= int64(shortTime) {
		s.long = batchWeight
		return
	}
	s.long = max(cmp.Or(s.long, batchWeight)/4, longWeight)
}

// Spent returns the time in nanoseconds since the session began for which callers of Do and Flush
// have executed commands. Batches in flight are not included.
func (s *Session) Spent() int64 { return s.spent }

// MayBeLong reports whether the work for a command grows with the values that it uses.
func (s *Session) MayBeLong(args [][]byte) bool {
	c := s.h.registry.Find(args[0], nil)
	return c != nil && c.weight == longWeight
}
