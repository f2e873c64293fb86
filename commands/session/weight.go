package session

import "time"

// The work for a command on plain values, and its reply, may be as large as a value, and are not
// known before the command is executed. So few of them are executed before the transport may look
// at the time and the output: a batch is full at batchWeight.
const (
	batchWeight = 64
	// longWeight is the weight of a command whose work grows with its values, if the batch with
	// the session's last such commands took less than shortTime, and otherwise it is batchWeight.
	// That of other commands on plain values is 1.
	longWeight = 16
	shortTime  = 100 * time.Microsecond
	// inFlightShare multiplies batchWeight for batches that another goroutine executes, because
	// each of those waits for the log or for other nodes, and the caller serves others meanwhile.
	inFlightShare = 16
)

// work is the state of a session that bounds its batches.
type work struct {
	spent    int64 // see Spent
	inFlight bool  // the last batch went in flight
	short    bool  // the last batch with long commands took less than shortTime
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
	if c.weight == longWeight && !s.short {
		s.g.weight += batchWeight
		return
	}
	s.g.weight += c.weight
}

// full reports whether no more commands should be gathered because of their weight.
func (s *Session) full() bool {
	most := batchWeight
	if s.inFlight {
		most *= inFlightShare
	}
	return s.g.weight >= most
}

// spend adds the time since began to Spent, for a batch of a weight.
func (s *Session) spend(began int64, weight int) {
	until := s.active.Load()
	if weight >= longWeight { // the replies may be large
		until = s.h.sinceStart()
		s.short = until-began < int64(shortTime)
	}
	s.spent += until - began
}

// Spent returns the time in nanoseconds since the session began for which callers of Do and Flush
// have executed commands. Batches in flight are not included.
func (s *Session) Spent() int64 { return s.spent }

// MayBeLong reports whether the work for a command grows with the values that it uses.
func (s *Session) MayBeLong(args [][]byte) bool {
	c := s.h.registry.Find(args[0], nil)
	return c != nil && c.weight == longWeight
}
