package reservations

import "limitsrv/engine"

// isLease reports whether the reservation has a lease of the limit: its holder is the id.
func (l *limit) isLease() bool { return !l.params.Alg.IsCounted() }

// lend gives the lease that the request has just taken of a limit the end of the reservation, and puts that
// into the decision.
func (w *worker) lend(tx *engine.Tx, id []byte, l *limit, d *engine.Decision) {
	if reset, found := tx.SetLease(l.key, id, w.record.end); found {
		d.Reset = reset
	}
}

// endLease ends the lease of a limit. A lease that is gone is not an error.
func (w *worker) endLease(tx *engine.Tx, id []byte, l *limit) {
	w.batch.Ops = append(w.batch.Ops[:0], engine.Op{Kind: engine.Release, Key: l.key, ID: id})
	tx.Decide(&w.batch)
}
