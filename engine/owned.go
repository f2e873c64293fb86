package engine

import "limitsrv/engine/slots"

// SetOwned sets the slots that the group of this engine owns; nil: all. Apply does not check keys: its
// caller must refuse a batch for which Foreign reports a slot. A call must check each key that it
// computes with Tx.Reaches. Every engine of the group must have the same set before the first op.
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
// names. Cost: an atomic read if the engine owns all slots, and else 20 ns a key.
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
