package limiters

import (
	"encoding/binary"

	"limitsrv/engine"
)

// The engine has no limit of 0, and bounds n. So a request under a limit of 0 becomes a look under
// a limit of 1, and its decision is corrected. Nothing is logged, and the key keeps its state. The
// ID of the op holds the numbers that the correction needs.

const (
	// closedBytes is the length of the ID of a Take under a limit of 0: n in 8 bytes, and a zero
	// byte.
	closedBytes = 9
	// hugeBytes is the length of the ID of a Take of engine.MaxN: n in 8 bytes.
	hugeBytes = 8
)

// leastLimit returns the least valid limit at a level of calls. At level 1 a limit of 0 is an
// error.
func leastLimit(level uint8) int64 {
	if level == 1 {
		return 1
	}
	return 0
}

// settleExtremes prepares a Take under a limit of 0, or of more permits than engine.MaxN. n is the
// argument; nil: one permit.
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

// closeLimit turns a Take of n permits under a limit of 0 into a look.
func closeLimit(op *engine.Op, n int64) {
	op.N, op.Params.Limit = 0, 1
	op.ID = append(binary.LittleEndian.AppendUint64(nil, uint64(n)), 0)
}

// isClosed reports whether an op has a limit of 0, and returns the number of permits that it asks
// for.
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

// correct corrects the decision on a Take or an Acquire under a limit of 0, or on a Take of more
// permits than engine.MaxN.
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

// closeGroup turns all limits of a group into looks if a limit of 0 is asked for permits, because
// such a group is denied and must change nothing.
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

// correctGroup corrects the decisions on the limits of a group, see correct. A limit of a group
// that only looks is denied if it has too few permits left.
func correctGroup(ops []engine.Op, ds []engine.Decision) {
	for i := range ops {
		if n, looks := ops[i].Looked(); looks && ds[i].Remaining < n {
			ds[i].Allowed = 0
		}
		correct(&ops[i], &ds[i])
	}
}
