package engine

import "encoding/binary"

// unaged is the Instant for permits of a Refund with an unknown age.
const unaged Instant = -1

// age returns the nanoseconds from since to now, or 0 if since is unaged.
func age(now, since Instant) uint64 {
	if since == unaged {
		return 0
	}
	return uint64(now - since)
}

// ageBytes is the length in bytes of an age in Op.ID.
const ageBytes = 8

// SetAge limits a Refund to permits that were taken at most nanos nanoseconds ago. Requires: nanos
// >= 0. It allocates.
func (op *Op) SetAge(nanos int64) { op.ID = binary.LittleEndian.AppendUint64(nil, uint64(nanos)) }

// isAdjusting reports whether the op is a Refund or a Charge with the mode Fit or Partial.
func (op *Op) isAdjusting() bool {
	return (op.Kind == Refund || op.Kind == Charge) && op.Mode&(Fit|Partial) != 0
}

// hasValidAge reports whether the ID of a Refund is empty or an age.
func (op *Op) hasValidAge() bool {
	return len(op.ID) == 0 || len(op.ID) == ageBytes && op.ID[ageBytes-1] < 0x80
}

// since returns the earliest time of the permits that a Refund may return, or unaged.
func (op *Op) since(now Instant) Instant {
	if len(op.ID) != ageBytes {
		return unaged
	}
	return max(0, now-Instant(binary.LittleEndian.Uint64(op.ID)))
}

// refund applies a Refund. A key that is full again is removed.
func (s *shard) refund(now Instant, op *Op, h uint64, d *Decision) {
	pl, used, ok := s.lookupCountable(now, op, h, d)
	if !ok {
		return
	}
	c := &s.cell
	if !op.isAdjusting() {
		c.limiter().refund(c, now, op.N)
	} else if !c.limiter().giveBack(c, now, op.since(now), op.N) {
		c.previewOne(now, used, d)
		d.Allowed = 0
		return
	}
	used = c.meter().used(c, now)
	c.previewOne(now, used, d)
	s.store(pl, now.after(d.Reset))
	d.Changed = true
	d.Allowed = 1
	if used == 0 {
		s.remove(pl)
	}
}

// charge applies a Charge: it takes permits, up to one limit of debt. The Wait of the decision is
// the time until the debt is repaid or, if the whole Charge is denied, until it would pass.
func (s *shard) charge(now Instant, op *Op, h uint64, d *Decision) {
	pl, used, ok := s.lookupChargeable(now, op, h, d)
	if !ok {
		return
	}
	c, limit, n := &s.cell, s.cell.params.Limit, op.N
	if op.isAdjusting() {
		n = min(n, max(0, 2*limit-used))
	}
	switch {
	case n == 0: // no permit fits
		d.Wait = c.meter().until(c, now, limit)
	case used+n > 2*limit:
		d.Wait = c.waitFor(now, n, 2*limit)
	default:
		if pl, ok = s.ensureMemory(now, op.Key, h, pl, n); !ok {
			d.Status, d.Changed = NoMemory, false
			return
		}
		c.limiter().take(c, now, n)
		used = c.meter().used(c, now)
		d.Changed, d.Allowed = true, charged(op, n)
		d.Wait = c.meter().until(c, now, limit)
	}
	if n < op.N {
		s.stats.ChargesCut++
	}
	c.fill(now, used, d)
	if d.Changed {
		s.upsert(pl, h, op.Key, now.after(d.Reset))
	}
}

// charged returns the Allowed of a Charge that took n permits.
func charged(op *Op, n int64) int64 {
	switch {
	case op.Mode&Partial != 0:
		return n
	case n == op.N:
		return 1
	}
	return 0
}

// lookupChargeable is lookupCountable for a Charge. If the Charge has Params, the key is migrated
// to them, which sets Changed, and a missing key counts as a new key.
func (s *shard) lookupChargeable(now Instant, op *Op, h uint64, d *Decision) (pl place, used int64, ok bool) {
	if op.Params.Limit == 0 {
		return s.lookupCountable(now, op, h, d)
	}
	pl, used, d.Changed, ok = s.lookupWith(now, op, h)
	if !ok || s.cell.alg().limiter == nil {
		s.cell.fillWrongType(now, used, d)
		return pl, used, false
	}
	return pl, used, true
}
