package engine_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/engine"
)

// A source turns bytes into choices; once they are spent it always chooses 0.
type source struct{ data []byte }

// n chooses one of 0 to k-1.
func (s *source) n(k int) int {
	v := uint64(0)
	for most := k - 1; most > 0 && len(s.data) > 0; most >>= 8 {
		v, s.data = v<<8|uint64(s.data[0]), s.data[1:]
	}
	return int(v % uint64(k))
}

func (s *source) oneIn(k int) bool { return s.n(k) == k-1 }

func pick[T any](s *source, of []T) T { return of[s.n(len(of))] }

const (
	second = int64(time.Second)
	hour   = int64(time.Hour)
	day    = 24 * hour
	// lastTime leaves room for the longest windows before Instants end.
	lastTime = int64(8.5e18)
	// mostN is more permits than can pass anywhere, in debt or not.
	mostN = 2*engine.MaxLimit + 1
)

var (
	limits = []int64{1, 2, 3, 7, 10, 100, 999_999, engine.MaxListed, 999_999_999_989, engine.MaxLimit}
	// rates are permits per ns, before they are brought to lowest terms.
	rates = [][2]int64{
		{10, second}, {7, 60 * second}, {1e9, second}, {1, engine.MaxPeriod}, {1, engine.MinPeriod},
		{999_999_999_989, engine.MaxPeriod}, {engine.MaxLimit, engine.MaxPeriod}, {5000, day}, {3, 7_919}, {1e9 - 1, second},
		{1, engine.MaxRatePeriod}, {999_999_999_989, engine.MaxRatePeriod},
	}
	windows = []int64{
		second, 60 * second, engine.MinPeriod, engine.MinPeriod + 1, 7_919, hour, day, 7 * day, 999_999_999_989, engine.MaxPeriod,
	}
	starts = []string{
		"1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000001Z", "2024-02-28T23:59:59.999999999Z", "2023-12-31T23:59:59.999999999Z",
		"2025-06-15T12:34:56.789Z", "2100-02-28T23:59:59Z", "2000-02-29T12:00:00Z", "2027-01-31T00:00:00Z", "2199-12-31T23:00:00Z",
	}
)

// drawParams draws parameters of an algorithm. One that is new to this needs no
// line here if it has a limit and a period.
func drawParams(s *source, a engine.Alg) engine.Params {
	p := engine.Params{Alg: a, Limit: pick(s, limits), Period: pick(s, windows)}
	switch a {
	case engine.Token, engine.Leaky:
		r := pick(s, rates)
		g := gcd(r[0], r[1])
		p.Count, p.Period = r[0]/g, r[1]/g
	case engine.Fixed:
		if s.n(2) == 1 {
			p.Calendar, p.Period = engine.Calendar(1+s.n(4)), 0
		}
	case engine.Log, engine.Lease:
		p.Limit = min(p.Limit, engine.MaxListed)
	}
	return p
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// algs are all algorithms there are.
func algs() []engine.Alg {
	var as []engine.Alg
	var stats engine.Stats
	for a := range stats.Allowed {
		as = append(as, engine.Alg(a))
	}
	return as
}

// instant is the time that is written in RFC 3339.
func instant(s string) engine.Instant {
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return engine.Instant(at.UnixNano())
}

// A driver applies the same ops to an engine and to a twin.
type modelTest struct {
	t       *testing.T
	name    string
	s       *source
	e       *engine.Engine
	single  *engine.Engine // applies the same ops, each op or group in a batch of its own
	model   *model
	replay  *replica
	now     int64 // what the clock shows; twin.now is the latest time seen
	shards  int
	keys    [][]byte
	homes   []engine.Alg
	params  map[engine.Alg][]engine.Params
	rounds  map[engine.Alg]bool // as of roundsTime
	marks   []int64             // times at which something ends
	trace   []string
	batch   engine.Batch
	rounded int // how often a bucket's time was rounded
}

func newModelTest(t *testing.T, name string, data []byte) *modelTest {
	d := &modelTest{t: t, name: name, s: &source{data}, model: newModel(), params: map[engine.Alg][]engine.Params{}, rounds: map[engine.Alg]bool{}}
	d.shards = pick(d.s, []int{1, 64, 4})
	d.e = engine.New(engine.Options{Shards: d.shards, Seed: [16]byte{1, 2, 3}})
	d.single = engine.New(engine.Options{Shards: 1})
	d.replay = &replica{e: engine.New(engine.Options{Shards: 2})}
	d.now = int64(instant(pick(d.s, starts)))
	for i, a := range algs() {
		d.keys = append(d.keys, []byte(strings.Repeat("k", 1+i*i*i*8)))
		d.homes = append(d.homes, a)
		for range 3 {
			d.params[a] = append(d.params[a], drawParams(d.s, a))
		}
		similar := d.params[a][0]
		similar.Limit = min(similar.Limit, 1+int64(d.s.n(12)))
		d.params[a] = append(d.params[a], similar)
		d.rounds[a] = roundsTime(d.params[a])
	}
	return d
}

// roundsTime reports whether buckets of these parameters may be full a fraction of a ns
// later than without rounding: if there is no common unit of all rates in which the
// numbers fit.
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

// run goes on until the source is spent.
func (d *modelTest) run() {
	for len(d.s.data) > 0 {
		d.step()
		d.batch.Reset()
		for n := pick(d.s, []int{1, 1, 1, 2, 9}); n > 0; n-- {
			d.draw()
		}
		d.batch.Atomic = d.s.oneIn(3)
		d.apply()
	}
	d.compareTables()
}

// step moves the clock: often to where something ends, or a nanosecond to either
// side of it, and sometimes back.
func (d *modelTest) step() {
	next := d.now
	switch d.s.n(16) {
	case 0, 1, 2:
	case 3:
		next++
	case 4, 5:
		next += int64(d.s.n(1 << 16))
	case 6, 7:
		next += int64(d.s.n(int(pick(d.s, windows)))) / 4
	case 8:
		p := pick(d.s, d.params[engine.Fixed])
		next = windowEnd(p, d.model.now) - int64(d.s.n(3))
	case 9:
		d.touch()
		next = max(0, d.now-int64(d.s.n(int(pick(d.s, windows)))))
	case 10:
		d.e.Sweep(engine.Instant(d.model.now), 1+d.s.n(200))
	default:
		if len(d.marks) > 0 {
			next = d.marks[len(d.marks)-1-d.s.n(min(8, len(d.marks)))] + int64(d.s.n(3)) - 1
		}
	}
	if next < 0 || next > lastTime {
		return
	}
	if next < d.model.now && d.now >= d.model.now {
		d.touch()
	}
	d.now = next
}

// touch lets every shard see the latest time, since a shard that has not seen it
// would not keep it. It makes keys and drops them again.
func (d *modelTest) touch() {
	var b engine.Batch
	for i := range 24 * d.shards {
		key := fmt.Appendf(nil, "touch%d", i)
		p := engine.Params{Alg: engine.Fixed, Limit: 1, Period: second}
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Key: key, N: 1, Params: p}, engine.Op{Kind: engine.Forget, Key: key})
	}
	d.e.Apply(engine.Instant(max(d.now, d.model.now)), &b)
	d.model.now = max(d.now, d.model.now)
}

// draw appends an op, or a group of them, to the batch.
func (d *modelTest) draw() {
	if d.s.oneIn(8) {
		n := 2 + d.s.n(4)
		for i := range n {
			op := d.drawTake(d.s.n(len(d.keys) - 1))
			op.Mode = 0
			if d.s.n(16) == 1 { // perhaps of another algorithm
				op.Params = pick(d.s, d.params[engine.Fixed])
			}
			if i == 0 {
				op.Group = uint8(n)
			}
			d.batch.Ops = append(d.batch.Ops, op)
		}
		return
	}
	i := d.s.n(len(d.keys))
	var op engine.Op
	switch kind := d.s.n(32); {
	case kind < 18 && d.homes[i] != engine.Lease:
		op = d.drawTake(i)
	case kind < 18, kind == 18:
		op = d.drawLease(i, engine.Acquire)
	case kind == 19:
		op = d.drawLease(i, engine.Release)
	case kind < 23:
		op.Kind = engine.Peek
	case kind < 26:
		op.Kind = engine.Refund
	case kind < 29:
		op.Kind = engine.Charge
	case kind == 29:
		op.Kind = engine.Forget
	case kind == 30:
		if op.Kind = engine.Forget; d.s.oneIn(4) {
			op.Kind = engine.Flush
		}
	default:
		op = d.drawTake(d.s.n(len(d.keys))) // perhaps of a key of another algorithm
		op.Params = pick(d.s, d.params[d.homes[d.s.n(len(d.homes)-1)]])
	}
	if op.Key == nil && op.Kind != engine.Flush {
		op.Key = d.keys[i]
	}
	if op.Kind == engine.Refund || op.Kind == engine.Charge {
		op.N = d.drawN(i, pick(d.s, d.params[d.homes[i]]).Limit)
		if d.s.oneIn(4) { // with parameters, of which the algorithm counts
			op.Params = pick(d.s, d.params[d.homes[d.s.n(len(d.homes))]])
		}
	}
	d.batch.Ops = append(d.batch.Ops, op)
}

// drawTake draws a Take of key i under parameters that are mostly the first.
func (d *modelTest) drawTake(i int) engine.Op {
	a := d.homes[i]
	if a == engine.Lease {
		a = engine.Token
	}
	p := d.params[a][0]
	if d.s.oneIn(4) {
		p = pick(d.s, d.params[a])
	}
	mode := engine.Mode(0)
	if d.s.oneIn(4) {
		mode = engine.Mode(d.s.n(4))
	}
	return engine.Op{Kind: engine.Take, Mode: mode, Key: d.keys[i], Params: p, N: d.drawN(i, p.Limit)}
}

func (d *modelTest) drawLease(i int, kind engine.Kind) engine.Op {
	op := engine.Op{Kind: kind, Key: d.keys[i], N: 1, ID: []byte{'a' + byte(d.s.n(12))}}
	if kind == engine.Acquire {
		op.Params = d.params[engine.Lease][3]
		if d.s.oneIn(4) {
			op.Params = pick(d.s, d.params[engine.Lease])
		}
		if d.s.oneIn(4) {
			op.Mode = engine.Mode(d.s.n(4))
		}
	}
	return op
}

// drawN draws a number of permits, often about the limit or about what is left.
func (d *modelTest) drawN(i int, limit int64) int64 {
	left := limit
	if k := d.model.find(d.keys[i]); k != nil && k.permits != nil {
		left = k.free(d.model.now)
	}
	return min(mostN, max(0, pick(d.s, []int64{
		1, 1, 1, 0, 2, left, left + 1, left - 1, limit, limit + 1, limit - 1, limit / 2, limit / 3, 2 * limit, 2*limit + 1,
		mostN, 1 + int64(d.s.n(100)),
	})))
}

// apply gives the batch to both and compares every decision, and for an op by
// itself that the fingerprint changes with the state only.
func (d *modelTest) apply() {
	now := engine.Instant(d.now)
	d.model.now = max(d.model.now, d.now)
	latest := engine.Instant(d.model.now)
	alone := len(d.batch.Ops) == 1 && d.batch.Ops[0].Kind != engine.Flush
	var before *modelKey
	var print int64
	if alone {
		if k := d.model.find(d.batch.Ops[0].Key); k != nil {
			before = k.clone()
		}
		print = d.e.Fingerprint(latest, d.batch.Ops[0].Key)
		if (print == 0) != (before == nil) {
			d.fail("fingerprint is %d, but key is there: %t", print, before != nil)
		}
	}
	d.e.Apply(now, &d.batch)
	var want []engine.Decision
	for rest := d.batch.Ops; len(rest) > 0; {
		n := max(1, int(rest[0].Group))
		want = append(want, d.applyModel(rest[:n])...)
		rest = rest[n:]
	}
	if len(d.batch.Decisions) != len(want) {
		d.fail("%d decisions of %d ops", len(d.batch.Decisions), len(want))
	}
	for i := range want {
		op := &d.batch.Ops[i]
		d.compare(op, d.batch.Decisions[i], want[i])
		if k := d.model.find(op.Key); k != nil && k.p.Count > 0 {
			got, _ := d.e.Export(latest, op.Key, nil)
			if state, _ := d.single.Export(latest, op.Key, nil); !bytes.Equal(got, state) {
				d.fail("state of %.9q is %x, but %x if each op has its own batch", op.Key, got, state)
			}
		}
	}
	if alone {
		d.comparePrints(before, print)
	}
	if err := d.replay.follow(latest, &d.batch); err != nil {
		d.fail("replay: %v", err)
	}
	d.compareReplay(d.keys[d.s.n(len(d.keys))])
}

// compareReplay says whether what only saw the changes knows a key as it must.
func (d *modelTest) compareReplay(key []byte) {
	want := engine.Decision{Status: engine.Missing}
	if k := d.model.find(key); k != nil {
		want = d.model.look(k)
	}
	got := apply(d.replay.e, engine.Instant(d.model.now), engine.Op{Kind: engine.Peek, Key: key})[0]
	if got.Status != engine.OK {
		got = engine.Decision{Status: got.Status}
	}
	if got != want {
		d.fail("replay: peek of %.9q\n got %+v\nwant %+v", key, got, want)
	}
}

// compare notes the decision and the times at which it says that something ends.
func (d *modelTest) compare(op *engine.Op, got, want engine.Decision) {
	d.trace = append(d.trace, fmt.Sprintf("%d (%d) %s -> %+v", d.now, d.model.now, opString(op), want))
	got.Changed = false
	switch op.Kind {
	case engine.Forget, engine.Release:
		got = engine.Decision{Status: got.Status, Allowed: got.Allowed}
	case engine.Flush:
		got = engine.Decision{Status: got.Status}
	}
	if want.Status != engine.OK {
		got = engine.Decision{Status: got.Status}
	}
	if got != want {
		d.fail("got  %+v\nwant %+v", got, want)
	}
	for _, s := range []engine.Span{want.Wait, want.Reset} {
		if s != (engine.Span{}) && s.Millis >= 0 && s.Millis < lastTime/1e6 {
			d.marks = append(d.marks, d.model.now+nanos(s), d.model.now+s.CeilMillis()*1e6)
		}
	}
	if len(d.marks) > 32 {
		d.marks = slices.Delete(d.marks, 0, 8)
	}
}

// applyTwin applies an op or a group to the twin, and returns the decisions that the
// engine must make. Buckets of the engine may round the time at which they are full, by
// the bound that is documented at refine; the twin then takes over the rounded time, so
// that each decision must be the exact one for the state.
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

// roundTwin gives a key of the twin the time at which the engine's bucket is full. That
// must be no earlier, and later only if at most so many ops have moved it, and within
// the bound. It reports whether that changed the twin.
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
		d.fail("bucket of %.9q is full %s ns too late, bound %s ns, want %s", key, late.FloatString(30), bound.FloatString(30), exact.FloatString(30))
	}
	d.rounded++
	b.full = got
	return true
}

// pow2 is 2^n, n negative.
func pow2(n int) *big.Rat {
	return new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), uint(-n)))
}

// engineFull is the time at which a bucket of an engine is full, read from its exported
// state; 0 if there is no such key.
func engineFull(e *engine.Engine, now int64, key string) *big.Rat {
	block, ok := e.Export(engine.Instant(now), []byte(key), nil)
	if !ok {
		return new(big.Rat)
	}
	data := block[10:] // behind version, time, and number of the parameters
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

// comparePrints says whether the op that went before changed the fingerprint, as
// it must if it changed the state, and must not if it did not.
func (d *modelTest) comparePrints(before *modelKey, print int64) {
	key := d.batch.Ops[0].Key
	after := d.model.find(key)
	changed := (before == nil) != (after == nil)
	if before != nil && after != nil {
		changed = !sameState(before, after, d.model.now)
	}
	if d.batch.Ops[0].Kind == engine.Acquire && d.batch.Decisions[0].Allowed == 1 {
		return // renewed at the same instant: written, be it with what was there
	}
	if now := d.e.Fingerprint(engine.Instant(d.model.now), key); (now != print) != changed {
		d.fail("fingerprint went from %d to %d, but state changed: %t", print, now, changed)
	}
}

// sameState compares what two keys know at t.
func sameState(a, b *modelKey, t int64) bool {
	if a.p != b.p {
		return false
	}
	if a.permits == nil {
		return maps.Equal(a.live(t), b.live(t))
	}
	return a.permits.used(a.p, t).Cmp(b.permits.used(b.p, t)) == 0
}

// compareTables compares what keys there are, after a whole sweep.
func (d *modelTest) compareTables() {
	latest := engine.Instant(d.model.now)
	found := map[string]bool{}
	for cursor, calls := uint64(0), 0; ; calls++ {
		cursor = d.e.Scan(latest, cursor, 2, func(key []byte, a engine.Alg) {
			found[string(key)] = true
			if k := d.model.find(key); k == nil || k.p.Alg != a {
				d.fail("scan found %q as %v, twin has %+v", key, a, k)
			}
		})
		if cursor == 0 {
			break
		}
		if calls > 100_000 {
			d.fail("scan does not end")
		}
	}
	for _, key := range d.keys {
		there := d.model.find(key) != nil
		if found[string(key)] != there {
			d.fail("scan found %.9q: %t, but it is there: %t", key, found[string(key)], there)
		}
		d.compareReplay(key)
		if (d.e.KeyBytes(latest, key) > 0) != there {
			d.fail("KeyBytes of %.9q is %d, but it is there: %t", key, d.e.KeyBytes(latest, key), there)
		}
	}
	d.e.Sweep(latest, 4*d.shards+64)
	if got, want := d.e.Len(), int64(d.model.live()); got != want {
		d.fail("after a whole sweep Len is %d, want %d", got, want)
	}
}

func (d *modelTest) fail(format string, args ...any) {
	d.t.Helper()
	last := d.trace[max(0, len(d.trace)-25):]
	d.t.Fatalf("%s, %d shards, after\n%s\n%s", d.name, d.shards, strings.Join(last, "\n"), fmt.Sprintf(format, args...))
}

func opString(op *engine.Op) string {
	kinds := [...]string{"TAKE", "PEEK", "REFUND", "CHARGE", "FORGET", "ACQUIRE", "RELEASE", "FLUSH", "EXPECT"}
	return fmt.Sprintf("%s len(key)=%d %q n=%d mode=%d group=%d %+v", kinds[op.Kind], len(op.Key), op.ID, op.N, op.Mode, op.Group, op.Params)
}

// nanos is a span that fits into an int64.
func nanos(s engine.Span) int64 { return s.Millis*1e6 + s.Nanos }

// randomBytes are n bytes to make choices of.
func randomBytes(r *rand.Rand, n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// TestTwin drives random sequences. The seed in the name of a failure brings it back.
func TestModel(t *testing.T) {
	for seed := range uint64(800 / slowdown) {
		r := rand.New(rand.NewPCG(seed, 1))
		newModelTest(t, fmt.Sprint("seed ", seed), randomBytes(r, 200+r.IntN(1200))).run()
	}
}

// TestTwinRounding takes few permits at a time from buckets whose rates have no common
// unit, so that many takes round.
func TestModelRounding(t *testing.T) {
	ops, rounded := 0, 0
	for seed := range uint64(240 / slowdown) {
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
		t.Errorf("of %d ops, %d rounded, want one in 20", ops, rounded)
	}
}

// drawFew draws an op about few permits, or a group of them, on a bucket.
func (d *modelTest) drawFew(r *rand.Rand) []engine.Op {
	ops := make([]engine.Op, []int{1, 1, 1, 2, 4}[r.IntN(5)])
	for i := range ops {
		key := r.IntN(2)
		a := d.homes[key]
		ops[i] = engine.Op{Kind: engine.Take, Key: d.keys[key], N: 1 + r.Int64N(3), Params: d.params[a][r.IntN(len(d.params[a]))]}
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

// setRates sets rates of many digits that are close to each other, since after a take at
// a far slower rate the permits used are more than any limit, and limits of many permits.
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

func FuzzModel(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randomBytes(rand.New(rand.NewPCG(seed, 2)), 600))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		newModelTest(t, "fuzz", data[:min(len(data), 4000)]).run()
	})
}
