package server

import (
	"fmt"
	"math"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
)

// Limits bound the input and output of a connection. A zero field means its default. A connection
// that exceeds an input bound is closed. Before that it gets a protocol error, if the error can be
// written.
type Limits struct {
	resp.Limits
	// OutputBytes bounds the replies and messages that the client has not read, in bytes. Above
	// it, replies make its further commands wait, and messages close the connection.
	OutputBytes int
}

// DefaultLimits are the defaults.
var DefaultLimits = Limits{Limits: resp.DefaultLimits, OutputBytes: session.RoomBytes}

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
