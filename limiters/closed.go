package limiters

import (
	"encoding/binary"

	"limitsrv/engine"
)

// The engine has no limit of 0, and bounds n. So a request under a limit of 0 only looks, under a
// limit of 1, and its reply is corrected: nothing is logged, and the key keeps its state. The ID
// of an op has the numbers for its reply.

const (
	// closedBytes is the length of the ID of a Take under a limit of 0: 8 bytes of n, and one more.
	closedBytes = 9
	// hugeBytes is the length of the ID of a Take of engine.MaxN: n.
	hugeBytes = 8
)

// leastLimit returns the least limit at a level of calls. 0 is an error at level 1.
func leastLimit(level uint8) int64 {
	if level == 1 {
		return 1
	}
	return 0
}

// settleExtremes prepares a Take of a limit of 0 or of more permits than the engine counts. n is
// the argument, nil for one permit.
func settleExtremes(op *engine.Op, n []byte, level uint8) {
	given := op.N
	if n != nil {
		given, _ = ParseWhole(n)
	}
	switch {
	case op.Params.Limit == 0:
		closeLimit(op, given)
	case given > engine.MaxN && op.Mode == engine.Partial|engine.Shadow && level != 1:
		op.ID = binary.LittleEndian.AppendUint64(nil, uint64(given))
	}
}

// closeLimit makes a Take of n permits under a limit of 0 a look.
func closeLimit(op *engine.Op, n int64) {
	op.N, op.Params.Limit = 0, 1
	op.ID = append(binary.LittleEndian.AppendUint64(nil, uint64(n)), 0)
}

// isClosed reports whether an op is under a limit of 0, and returns the permits of the request.
func isClosed(op *engine.Op) (n int64, closed bool) {
	switch {
	case op.N > 0:
		return 0, false
	case op.Kind == engine.Acquire:
		return 1, true
	case op.Kind == engine.Take && len(op.ID) == closedBytes:
		return int64(binary.LittleEndian.Uint64(op.ID)), true
	}
	return 0, false
}

// correct corrects the decision on a Take or an Acquire with a limit of 0, or of more permits than
// the engine counts.
func correct(op *engine.Op, d *engine.Decision) {
	n, closed := isClosed(op)
	switch {
	case closed:
		d.Params.Limit, d.Remaining = 0, 0
		d.Allowed, d.Wait = 1, engine.Span{}
		if n > 0 {
			d.Allowed, d.Wait = 0, engine.Never
		}
		switch {
		case op.Mode&engine.Shadow == 0:
			if op.Mode&engine.Partial != 0 {
				d.Allowed = 0
			}
		case op.Mode&engine.Partial != 0:
			d.Allowed = n
		default:
			d.Allowed = 1
		}
	case op.N == engine.MaxN && len(op.ID) == hugeBytes && op.Kind == engine.Take:
		d.Allowed = int64(binary.LittleEndian.Uint64(op.ID))
	}
}

// closeGroup makes all limits of a group look if one of them is closed and asks for permits: the
// group is denied, and changes nothing.
func closeGroup(ops []engine.Op) {
	for i := range ops {
		if n, closed := isClosed(&ops[i]); closed && n > 0 {
			lookOnly(ops)
			return
		}
	}
}

func lookOnly(ops []engine.Op) {
	for i := range ops {
		if op := &ops[i]; op.N > 0 {
			op.LookFor(op.N)
			op.N = 0
		}
	}
}

// correctGroup corrects the decisions on the limits of a group: see correct. In a group that only
// looks, a limit without room for the request denies it.
func correctGroup(ops []engine.Op, ds []engine.Decision) {
	for i := range ops {
		if n, looks := ops[i].Looked(); looks && ds[i].Remaining < n {
			ds[i].Allowed = 0
		}
		correct(&ops[i], &ds[i])
	}
}
