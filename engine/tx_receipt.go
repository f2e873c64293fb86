package engine

// A Receipt is the record of an id: a request with this id has acted, and must not act again. It is a
// key with an expiry, of a row of its own.
type Receipt struct {
	// Until is the expiry, in milliseconds since the Unix epoch.
	Until int64
	// Request is a hash of the request.
	Request uint64
	// Outcome is the answer to the request, in a form that the commands define.
	Outcome uint64
	// Limit is the limit in force then, up to MaxLimit, if the request was about a key that need not
	// have parameters; otherwise 0.
	Limit int64
}

// Receipt returns the receipt of an entry; ok is false if the entry is something else. Requires: it
// is there.
func (tx *Tx) Receipt(e Entry) (r Receipt, ok bool) {
	c := tx.load(&e)
	if c.params.Alg != IDReceipt {
		return Receipt{}, false
	}
	return Receipt{Until: int64(c.state[0]), Request: c.state[1], Outcome: c.state[2], Limit: int64(c.state[3])}, true
}

// PutReceipt stores a receipt in place of a key that is not there. Requires: the batch is not Tight,
// Until is not past, and Limit is at most MaxLimit.
func (tx *Tx) PutReceipt(e Entry, r Receipt) {
	tx.put(e, IDReceipt, state{uint64(r.Until), r.Request, r.Outcome, uint64(r.Limit)}, nil)
}
