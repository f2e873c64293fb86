package reservations

import "limitsrv/engine"

// isLease reports whether the limit is a limit with leases. The holder of the reservation's lease is its id.
func (l *limit) isLease() bool { return !l.params.Alg.IsCounted() }

// lend sets the end of a lease to the end of the reservation, and sets Reset of the decision on the limit.
// Requires: the request has just taken the lease.
func (w *worker) lend(tx *engine.Tx, id []byte, l *limit, d *engine.Decision) {
	if reset, found := tx.SetLease(l.key, id, w.record.end); found {
		d.Reset = reset
	}
}

// endLease ends the lease of a limit. It does nothing if the lease is gone.
func (w *worker) endLease(tx *engine.Tx, id []byte, l *limit) {
	w.batch.Ops = append(w.batch.Ops[:0], engine.Op{Kind: engine.Release, Key: l.key, ID: id})
	tx.Decide(&w.batch)
}
