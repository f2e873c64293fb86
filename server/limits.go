package server

import (
	"fmt"
	"math"
)

// Limits bound the input and output of one connection. A zero field takes its default. A
// connection that exceeds one gets a protocol error, if it can still be written to, and
// is closed.
type Limits struct {
	Args        int // arguments of a command, its name included
	ArgBytes    int // bytes of an argument
	QueryBytes  int // bytes of a command on the wire
	InlineBytes int // bytes of an inline command or of a length, without the line end
	OutputBytes int // bytes of replies not written yet
}

// DefaultLimits leave room for RL.ALL of 64 limits (321 arguments) and for a DEL of some
// thousand keys. InlineBytes is Redis' own.
var DefaultLimits = Limits{
	Args:        16 << 10,
	ArgBytes:    64 << 10,
	QueryBytes:  1 << 20,
	InlineBytes: 64 << 10,
	OutputBytes: 64 << 20,
}

// Limits before authentication, as in Redis (redis/redis#9588).
const (
	maxUnauthArgs     = 10
	maxUnauthArgBytes = 16 << 10
)

// limitNames are the names of the Limits in errors, with an accessor for each.
var limitNames = [...]struct {
	name  string
	field func(*Limits) *int
}{
	{"arguments per command", func(l *Limits) *int { return &l.Args }},
	{"bytes per argument", func(l *Limits) *int { return &l.ArgBytes }},
	{"bytes per query", func(l *Limits) *int { return &l.QueryBytes }},
	{"bytes per inline command", func(l *Limits) *int { return &l.InlineBytes }},
	{"bytes of output", func(l *Limits) *int { return &l.OutputBytes }},
}

// withDefaults returns l with defaults for zero fields. Each limit must fit 31 bits.
func (l Limits) withDefaults() (Limits, error) {
	defaults := DefaultLimits
	for _, n := range limitNames {
		f := n.field(&l)
		if *f == 0 {
			*f = *n.field(&defaults)
		}
		if *f < 1 || *f > math.MaxInt32 {
			return l, fmt.Errorf("limit of %s: must be 1 to %d, is %d", n.name, math.MaxInt32, *f)
		}
	}
	return l, nil
}
