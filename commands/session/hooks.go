package session

import "sync/atomic"

// hooks are the checks that apply to every command while they are set, as bits, so that a
// command checks all of them with a load.
type hooks struct{ atomic.Int32 }

const (
	monitored int32 = 1 << iota
	paused
	loading
	guarded   // there is a users file: rights must be checked
	clustered // the cluster is Enabled: other nodes may have a slot
)

// set sets or clears a bit.
func (h *hooks) set(bit int32, on bool) {
	if on {
		h.Or(bit)
		return
	}
	h.And(^bit)
}
