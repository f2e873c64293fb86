package engine_test

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// roundsTime reports whether buckets of these parameters may be full a fraction of a ns
// later than without rounding, because the rates have no common unit that keeps the numbers
// small enough.
func roundsTime(ps []engine.Params) bool {
	unit, slowest, most := big.NewInt(1), new(big.Rat), int64(0)
	for _, p := range ps {
		if p.Count == 0 {
			return false
		}
		count := big.NewInt(p.Count)
		common := new(big.Int).GCD(nil, nil, unit, count)
		unit.Mul(unit, count.Quo(count, common))
		if permit := big.NewRat(p.Period, p.Count); permit.Cmp(slowest) > 0 {
			slowest = permit
		}
		most = max(most, 2*p.Limit)
	}
	longest := new(big.Rat).Mul(whole(most), slowest)
	return unit.BitLen() > 62 || floor(longest.Mul(longest, new(big.Rat).SetInt(unit))).BitLen() > 124
}

// applyModel applies an op or a group to the model, and returns the decisions that the
// engine must make. Buckets of the engine may round the time when they are full, within the
// bound documented at refine. The model then takes over the rounded time, so that each
// decision must be exact for the state.
func (d *modelTest) applyModel(ops []engine.Op) []engine.Decision {
	now := engine.Instant(d.model.now)
	before := map[string]*big.Rat{}
	for i := range ops {
		if k := d.model.find(ops[i].Key); k != nil && k.p.Count > 0 {
			before[string(ops[i].Key)] = new(big.Rat).Set(k.permits.(*bucketModel).full)
		}
	}
	want := d.model.apply(now, ops)
	d.single.Apply(now, &engine.Batch{Ops: slices.Clone(ops)})
	last := map[string]int{}
	for i := range ops {
		last[string(ops[i].Key)] = i
	}
	for key, i := range last {
		k := d.model.keys[key]
		if k == nil || k.p.Count == 0 || !d.roundModel(key, k, before[key], len(ops)) {
			continue
		}
		switch op := &ops[i]; op.Kind {
		case engine.Refund:
			want[i] = d.model.look(k)
			want[i].Allowed = 1
		case engine.Charge:
			want[i].Wait = k.wait(d.model.now, 0, k.p.Limit)
			fallthrough
		case engine.Take:
			want[i].Remaining, want[i].Reset = k.free(d.model.now), k.reset(d.model.now)
		}
	}
	return want
}

// roundModel sets the time when a key of the model is full to the engine's. That must be no
// earlier, and later only if at most so many ops have moved it, and within the bound. It
// reports whether the model changed.
func (d *modelTest) roundModel(key string, k *modelKey, before *big.Rat, ops int) bool {
	now := whole(d.model.now)
	b := k.permits.(*bucketModel)
	exact, got := b.full, engineFull(d.single, d.model.now, key)
	if exact.Cmp(now) < 0 {
		exact = now
	}
	if got.Cmp(now) < 0 {
		got = now
	}
	late := new(big.Rat).Sub(got, exact)
	if late.Sign() == 0 {
		return false
	}
	bound := new(big.Rat)
	if d.rounds[k.p.Alg] && (before == nil || before.Cmp(b.full) != 0) {
		full := exact
		if before != nil && before.Cmp(full) > 0 {
			full = before
		}
		bound.Mul(new(big.Rat).Add(full, whole(2)), pow2(-123))
		if least := pow2(-60); bound.Cmp(least) < 0 {
			bound = least
		}
		bound.Mul(bound, whole(int64(ops)))
	}
	if late.Sign() < 0 || late.Cmp(bound) >= 0 {
		d.fail("bucket of %.9q is full %s ns too late, bound %s ns, want %s", key, late.FloatString(30),
			bound.FloatString(30), exact.FloatString(30))
	}
	d.rounded++
	b.full = got
	return true
}

// pow2 is 2^n, n negative.
func pow2(n int) *big.Rat {
	return new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), uint(-n)))
}

// engineFull returns the time when a bucket of an engine is full, read from its exported
// state; 0 if there is no such key.
func engineFull(e *engine.Engine, now int64, key string) *big.Rat {
	block, ok := e.Export(engine.Instant(now), 0, []byte(key), nil)
	if !ok {
		return new(big.Rat)
	}
	data := block[10:] // after version, time, and number of the parameters
	numbers := 3
	if data[0]&0x80 != 0 { // has a past
		numbers = 6
	}
	data = data[2:]
	var n [6]uint64 // limit, count, period; of the past: a period, the unit, a count
	for i := range numbers {
		var size int
		n[i], size = binary.Uvarint(data)
		data = data[size:]
	}
	unit := n[1]
	if n[4] != 0 {
		unit = n[4]
	}
	due := new(big.Int).SetUint64(binary.LittleEndian.Uint64(data))
	due.Lsh(due, 64).Add(due, new(big.Int).SetUint64(binary.LittleEndian.Uint64(data[8:])))
	return new(big.Rat).SetFrac(due, new(big.Int).SetUint64(unit))
}

// TestModelRounding takes few permits at a time from buckets with rates that have no
// common unit, so that many takes round.
func TestModelRounding(t *testing.T) {
	ops, rounded := 0, 0
	for seed := range uint64(240 / testwait.Slowdown()) {
		r := rand.New(rand.NewPCG(seed, 3))
		d := newModelTest(t, fmt.Sprint("seed ", seed), randomBytes(r, 200))
		for _, a := range []engine.Alg{engine.Token, engine.Leaky} {
			setRates(r, d.params[a])
			d.rounds[a] = roundsTime(d.params[a])
		}
		for range 40 {
			p := d.params[engine.Token][0]
			most := min((lastTime-d.now)/100, p.Period/p.Count)
			d.now += r.Int64N(1 + max(0, most>>r.IntN(8)))
			d.batch.Reset()
			for range 1 + r.IntN(3) {
				d.batch.Ops = append(d.batch.Ops, d.drawFew(r)...)
			}
			d.batch.Atomic = r.IntN(3) == 0
			ops += len(d.batch.Ops)
			d.apply()
		}
		d.compareTables()
		rounded += d.rounded
	}
	t.Logf("of %d ops, %d rounded", ops, rounded)
	if rounded < ops/20 {
		t.Errorf("of %d ops, %d rounded, want at least one in 20", ops, rounded)
	}
}

// drawFew draws an op about few permits on a bucket, or a group of such ops.
func (d *modelTest) drawFew(r *rand.Rand) []engine.Op {
	ops := make([]engine.Op, []int{1, 1, 1, 2, 4}[r.IntN(5)])
	for i := range ops {
		key := r.IntN(2)
		a := d.homes[key]
		ops[i] = engine.Op{Kind: engine.Take, Key: d.keys[key], N: 1 + r.Int64N(3),
			Params: d.params[a][r.IntN(len(d.params[a]))]}
	}
	if len(ops) > 1 {
		ops[0].Group = uint8(len(ops))
		return ops
	}
	switch op := &ops[0]; r.IntN(8) {
	case 0:
		op.Kind, op.Params = engine.Refund, engine.Params{}
	case 1:
		op.Kind, op.Params = engine.Charge, engine.Params{}
	case 2:
		op.Kind, op.Params, op.N = engine.Peek, engine.Params{}, 0
	case 3:
		op.Mode = engine.Partial
	case 4:
		op.N = d.drawN(slices.Index(d.homes, op.Params.Alg), op.Params.Limit)
	}
	return ops
}

// setRates sets rates of many digits that are close to each other, because after a take
// at a far slower rate the permits used exceed any limit; and limits of many permits.
func setRates(r *rand.Rand, ps []engine.Params) {
	period := 1 + r.Int64N(engine.MaxRatePeriod/4)>>r.IntN(50)
	count := 1 + r.Int64N(period)>>r.IntN(50)
	for i := range ps {
		p := &ps[i]
		p.Period = period + r.Int64N(3*period)
		p.Count = min(count+r.Int64N(3*count), p.Period)
		g := gcd(p.Count, p.Period)
		p.Count, p.Period = p.Count/g, p.Period/g
		p.Limit = []int64{30, 100, 999_999, 999_999_999_989, engine.MaxLimit}[r.IntN(5)]
	}
}
