package engine_test

import (
	"math/big"

	"limitsrv/engine"
)

// A boxModel is a penalty box: its strikes, its level, and the end of its last block.
type boxModel struct {
	p       engine.Penalty
	strikes int64
	first   int64 // time of the first strike
	level   int64
	end     int64 // of the last block, later by Forgive for each level fallen
}

// settle forgives what is over at t.
func (b *boxModel) settle(t int64) {
	if t >= b.first+b.p.Within {
		b.strikes = 0
	}
	for b.level > 0 && t-b.end >= b.p.Forgive {
		b.level--
		b.end += b.p.Forgive
	}
}

// change puts the box under other parameters.
func (b *boxModel) change(p engine.Penalty, t int64) {
	b.settle(t)
	b.p = p
	b.settle(t)
}

func (b boxModel) isNew(t int64) bool {
	b.settle(t)
	return b.strikes == 0 && b.level == 0
}

// look describes the box at t, as a guard with the parameters p sees it.
func (b *boxModel) look(p engine.Params, t int64) engine.Decision {
	x := *b
	x.change(p.Penalty(), t)
	d := engine.Decision{Params: p}
	if x.level > 0 && t < x.end {
		d.Wait = span(big.NewInt(x.end - t))
	} else {
		d.Allowed, d.Remaining = 1, max(1, x.p.After-x.strikes)
	}
	reset := new(big.Int)
	if x.strikes > 0 {
		reset.SetInt64(x.first + x.p.Within - t)
	}
	if x.level > 0 {
		forgiven := new(big.Int).Mul(big.NewInt(x.level), big.NewInt(x.p.Forgive))
		if forgiven.Add(forgiven, big.NewInt(x.end-t)); forgiven.Cmp(reset) > 0 {
			reset = forgiven
		}
	}
	d.Reset = span(reset)
	return d
}

// block returns the length of the block of a level.
func (b *boxModel) block(level int64) int64 {
	x, most := big.NewInt(b.p.Block), big.NewInt(b.p.Max)
	for range level {
		x.Mul(x, big.NewInt(b.p.Growth))
		x.Div(x, big.NewInt(100))
	}
	if x.Cmp(most) > 0 {
		x = most
	}
	return x.Int64()
}

// boxOf returns a copy of the box of a guard, under its parameters.
func (t *model) boxOf(op *engine.Op) *boxModel {
	b := boxModel{p: op.Params.Penalty()}
	if k := t.find(op.Key); k != nil {
		b = *k.box
	}
	b.change(op.Params.Penalty(), t.now)
	return &b
}

// closed answers a group if one of its boxes is closed; nil: no box is.
func (t *model) closed(ops []engine.Op) []engine.Decision {
	ds, closed := make([]engine.Decision, len(ops)), false
	for i := range ops {
		if op := &ops[i]; op.Mode == engine.Guard {
			ds[i] = t.boxOf(op).look(op.Params, t.now)
			closed = closed || ds[i].Allowed == 0
		}
	}
	if !closed {
		return nil
	}
	for i := range ops {
		op := &ops[i]
		if b := t.boxOf; op.Mode == engine.Guard && ds[i].Allowed == 0 && op.N > 0 && op.Params.Penalty().Extend {
			x := b(op)
			x.end = t.now + x.block(x.level-1)
			t.keys[string(op.Key)] = &modelKey{p: op.Params, box: x}
			ds[i] = x.look(op.Params, t.now)
		}
	}
	return ds
}

// strike gives the strikes of a denied group.
func (t *model) strike(ops []engine.Op, ds []engine.Decision) {
	for i := range ops {
		if ops[i].Mode != engine.Guard || ops[i].N == 0 {
			continue
		}
		for j := i + 1; j < len(ops) && ops[j].Mode != engine.Guard; j++ {
			if ops[j].Mode == 0 && ds[j].Allowed == 0 {
				ds[i] = t.strikeOne(&ops[i])
				break
			}
		}
	}
}

func (t *model) strikeOne(op *engine.Op) engine.Decision {
	b := t.boxOf(op)
	if b.look(op.Params, t.now).Allowed == 1 {
		if b.strikes == 0 {
			b.first = t.now
		}
		if b.strikes++; b.strikes >= b.p.After {
			b.strikes, b.end = 0, t.now+b.block(b.level)
			b.level++
		}
		t.keys[string(op.Key)] = &modelKey{p: op.Params, box: b}
	}
	d := b.look(op.Params, t.now)
	d.Allowed = 1
	return d
}
