package engine

// receipt is the meter of an IDReceipt. State: the expiry, as of all plain values; the fields Request,
// Outcome and Limit of a Receipt.
type receipt struct{ plain }

func (receipt) valid(c *cell, _ Instant) bool {
	return int64(c.state[0]) > 0 && c.state[3] <= MaxLimit && c.past.isZero()
}
