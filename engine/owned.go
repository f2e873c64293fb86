package engine

import "limitsrv/engine/slots"

// SetOwned bounds the keys to the slots of a set: the group of this engine owns no other slots.
// nil: there is no bound. Apply relies on its caller to refuse ops on other keys, see Foreign; a
// call is told by Tx.Reaches. Every engine of the group must have the same set before the first op.
//
// Concurrency: any goroutine.
func (e *Engine) SetOwned(s slots.Set) {
	if s == nil {
		e.owned.Store(nil)
		return
	}
	e.owned.Store(&s)
}

// Foreign returns the first slot that this engine does not own among those of the keys that a batch
// names. Cost: an atomic read without a bound, and with it 20 ns a key.
func (e *Engine) Foreign(b *Batch) (slot slots.Slot, any bool) {
	owned := e.owned.Load()
	if owned == nil {
		return 0, false
	}
	for i := range b.Ops {
		switch op := &b.Ops[i]; op.Kind {
		case Do:
			c := b.CallOf(op)
			b.scratch.keys, _ = e.commands.Keys(c, b.scratch.keys[:0])
			for _, k := range b.scratch.keys {
				if slot = slots.Of(c.Args[k]); !owned.Has(slot) {
					return slot, true
				}
			}
		case Flush, Learn, Needs: // they have no key
		default:
			if slot = slots.Of(op.Key); !owned.Has(slot) {
				return slot, true
			}
		}
	}
	return 0, false
}

// Divided reports whether the engine owns only some slots, so that Reaches may be false.
func (tx *Tx) Divided() bool { return tx.e.owned.Load() != nil }

// Reaches reports whether the call may touch a key: a key of the slot of its first key or, if it has
// no keys, of any slot that the engine owns.
func (tx *Tx) Reaches(key []byte) bool {
	owned := tx.e.owned.Load()
	switch {
	case owned == nil:
		return true
	case tx.key != nil:
		return slots.Of(key) == slots.Of(tx.key)
	}
	return owned.Has(slots.Of(key))
}
