package engine

// Decide applies the ops of limits in a batch, in the call's database and in their order, and
// sets the Decisions: of a group all or none, as in a batch of its own. A key that it would
// create in a batch that is Tight or Full is answered NoMemory. Requires: the shards of the
// keys were entered, as for Find, and no op is a Needs, because a call can ask for the
// DocumentsVersion itself. No allocation after the first calls with a batch.
func (tx *Tx) Decide(b *Batch) { tx.decideAll(b, false) }

// DecideForced is Decide, but it creates keys also in a batch that is Tight or Full, because their
// permits are used already. The caller bounds the number of such keys.
func (tx *Tx) DecideForced(b *Batch) { tx.decideAll(b, true) }

func (tx *Tx) decideAll(b *Batch, forced bool) {
	tx.e.makeSpace(b)
	for i := range b.Ops {
		op := &b.Ops[i]
		op.DB = tx.db
		if tx.looking && !op.readOnly() {
			panic("engine: a read-only call takes")
		}
		b.scratch.shards[i], b.scratch.hashes[i] = tx.shardNumber(op.DB, op.Key)
	}
	for from := 0; from < len(b.Ops); {
		to := from + b.Ops[from].Members()
		tx.decide(b, from, to, forced)
		from = to
	}
}

// decide applies op from, or the group that ends before to.
func (tx *Tx) decide(b *Batch, from, to int, forced bool) {
	full := tx.e.shards[b.scratch.shards[from]].full // as full is in all shards of the call
	b.Full = !forced && (full || tx.tight)
	for i := from; i < to; i++ {
		s := &tx.e.shards[b.scratch.shards[i]]
		s.full, s.boundless = b.Full, true
	}
	if b.Ops[from].IsGroup() {
		tx.e.takeGroup(tx.now, b, from, to)
	} else {
		tx.e.shards[b.scratch.shards[from]].apply(tx.now, &b.Ops[from], b.scratch.hashes[from], &b.Decisions[from])
	}
	for i := from; i < to; i++ {
		s, d := &tx.e.shards[b.scratch.shards[i]], &b.Decisions[i]
		s.full, s.boundless = full, false
		if tx.sums {
			tx.effects.add(tx.effectsHash(b.scratch.hashes[i], b.Ops[i].Key), uint64(d.Allowed))
			tx.effects.add(uint64(d.Remaining), uint64(d.Status))
		}
		if d.Changed {
			tx.changes(b.Ops[i].Key)
		}
	}
	tx.moves++
}
