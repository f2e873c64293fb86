package engine_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// A source turns bytes into choices; after the last byte it always chooses 0.
type source struct{ data []byte }

// n returns a choice from 0 to k-1.
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
	// mostN is more permits than can ever pass.
	mostN = 2*engine.MaxLimit + 1
)

var (
	limits = []int64{1, 2, 3, 7, 10, 100, 999_999, engine.MaxListed, 999_999_999_989, engine.MaxLimit}
	// rates are permits per ns, not in lowest terms.
	rates = [][2]int64{
		{10, second}, {7, 60 * second}, {1e9, second}, {1, engine.MaxPeriod}, {1, engine.MinPeriod},
		{999_999_999_989, engine.MaxPeriod}, {engine.MaxLimit, engine.MaxPeriod}, {5000, day}, {3, 7_919}, {1e9 - 1, second},
		{1, engine.MaxRatePeriod}, {999_999_999_989, engine.MaxRatePeriod},
	}
	windows = []int64{
		second, 60 * second, engine.MinPeriod, engine.MinPeriod + 1, 7_919, hour, day, 7 * day, 999_999_999_989,
		engine.MaxPeriod,
	}
	starts = []string{
		"1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000001Z", "2024-02-28T23:59:59.999999999Z",
		"2023-12-31T23:59:59.999999999Z",
		"2025-06-15T12:34:56.789Z", "2100-02-28T23:59:59Z", "2000-02-29T12:00:00Z", "2027-01-31T00:00:00Z",
		"2199-12-31T23:00:00Z",
	}
)

// drawParams draws parameters of an algorithm, within its Usage.
func drawParams(s *source, a engine.Alg) engine.Params {
	p := engine.Params{Alg: a, Limit: pick(s, limits), Period: pick(s, windows)}
	u := a.Usage()
	switch p.Limit = min(p.Limit, u.MaxLimit); u.Period {
	case engine.Rate:
		r := pick(s, rates)
		g := gcd(r[0], r[1])
		p.Count, p.Period = r[0]/g, r[1]/g
	case engine.CalendarWindow:
		if s.n(2) == 1 {
			p.Calendar, p.Period = engine.Calendar(1+s.n(4)), 0
		}
	}
	return p
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// algs returns the algorithms that grant permits.
func algs() []engine.Alg {
	return slices.DeleteFunc(slices.Collect(engine.Algs()), func(a engine.Alg) bool { return a == engine.Box })
}

// counted returns the algorithms with permits that are numbers.
func counted() []engine.Alg {
	return slices.DeleteFunc(algs(), func(a engine.Alg) bool { return !a.IsCounted() })
}

// isListed reports whether the state of an algorithm grows with its permits.
func isListed(a engine.Alg) bool { return a.Usage().MaxLimit == engine.MaxListed }

// instant parses a time in RFC 3339.
func instant(s string) engine.Instant {
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return engine.Instant(at.UnixNano())
}

// A modelTest applies the same ops to an engine and to a model.
type modelTest struct {
	t       *testing.T
	name    string
	s       *source
	e       *engine.Engine
	single  *engine.Engine // applies the same ops, a batch for each op or group
	model   *model
	replay  *replica
	now     int64 // of the clock; model.now is the latest time seen
	shards  int
	keys    [][]byte
	homes   []engine.Alg
	params  map[engine.Alg][]engine.Params
	rounds  map[engine.Alg]bool // result of roundsTime
	marks   []int64             // ends of windows, waits and blocks
	trace   []string
	batch   engine.Batch
	rounded int // number of times that a bucket's time was rounded
}

func newModelTest(t *testing.T, name string, data []byte) *modelTest {
	d := &modelTest{t: t, name: name, s: &source{data}, model: newModel(), params: map[engine.Alg][]engine.Params{},
		rounds: map[engine.Alg]bool{}}
	d.shards = pick(d.s, []int{1, 64, 4})
	d.e = engine.New(engine.Options{Shards: d.shards, Seed: [16]byte{1, 2, 3}})
	d.single = engine.New(engine.Options{Shards: 1})
	d.replay = &replica{e: engine.New(engine.Options{Shards: 2})}
	d.now = int64(instant(pick(d.s, starts)))
	last := len(algs()) - 1
	for i, a := range algs() {
		d.keys = append(d.keys, []byte(strings.Repeat("k", 1+i*i*i*1000/(last*last*last))))
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

// run applies random batches until the source is spent.
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

// step moves the clock: often to the end of a window or wait, or a nanosecond to either
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

// touch advances every shard to the latest time, because shards not used since would not
// know it. It creates keys and drops them again.
func (d *modelTest) touch() {
	var b engine.Batch
	for i := range 24 * d.shards {
		key := fmt.Appendf(nil, "touch%d", i)
		p := engine.Params{Alg: engine.Fixed, Limit: 1, Period: second}
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Key: key, N: 1, Params: p},
			engine.Op{Kind: engine.Forget, Key: key})
	}
	d.e.Apply(engine.Instant(max(d.now, d.model.now)), &b)
	d.model.now = max(d.now, d.model.now)
}

// draw appends an op, or a group of them, to the batch.
func (d *modelTest) draw() {
	if d.s.oneIn(8) {
		n := 1 + d.s.n(5)
		for i := range n {
			op := d.drawMember()
			if op.Kind == engine.Take && d.s.n(16) == 1 { // perhaps of another algorithm
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
		op.Params = pick(d.s, d.params[pick(d.s, counted())])
	}
	if op.Key == nil && op.Kind != engine.Flush {
		op.Key = d.keys[i]
	}
	if op.Kind == engine.Refund || op.Kind == engine.Charge {
		op.N = d.drawN(i, pick(d.s, d.params[d.homes[i]]).Limit)
		if d.s.n(2) == 1 {
			d.drawFit(&op)
		}
		if d.s.oneIn(4) { // with parameters, only their algorithm matters
			op.Params = pick(d.s, d.params[d.homes[d.s.n(len(d.homes))]])
		}
	}
	d.batch.Ops = append(d.batch.Ops, op)
}

// drawFit gives a Refund or a Charge a mode, and a Refund perhaps an age.
func (d *modelTest) drawFit(op *engine.Op) {
	op.Mode = pick(d.s, []engine.Mode{engine.Fit, engine.Partial})
	if op.Kind == engine.Refund && d.s.n(3) > 0 {
		op.SetAge(int64(d.s.n(int(pick(d.s, windows)))) / 2)
		if len(d.marks) > 0 && d.s.n(2) == 1 {
			op.SetAge(max(0, d.model.now-d.marks[d.s.n(len(d.marks))]))
		}
	}
}

// drawMember draws an op of a group.
func (d *modelTest) drawMember() engine.Op {
	i := d.s.n(len(d.keys))
	op := d.drawTake(i)
	if d.homes[i] == engine.Lease {
		op = d.drawLease(i, engine.Acquire)
		op.N = int64(min(1, d.s.n(4)))
	}
	op.Mode = pick(d.s, []engine.Mode{0, 0, engine.Shadow, engine.AnyOf})
	return op
}

// drawTake draws a Take of key i, mostly under the first parameters of its algorithm.
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

// drawN draws a number of permits, often near the limit or near the permits left.
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

// apply applies the batch to both and compares every decision; for a single op it also
// checks that the fingerprint changes only with the state.
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
		print = d.e.Fingerprint(latest, 0, d.batch.Ops[0].Key)
		if (print == 0) != (before == nil) {
			d.fail("fingerprint is %d, but the key exists: %t", print, before != nil)
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
		d.fail("%d decisions for %d ops", len(d.batch.Decisions), len(want))
	}
	for i := range want {
		op := &d.batch.Ops[i]
		d.compare(op, d.batch.Decisions[i], want[i])
		if k := d.model.find(op.Key); k != nil && k.p.Count > 0 {
			got, _ := d.e.Export(latest, 0, op.Key, nil)
			if state, _ := d.single.Export(latest, 0, op.Key, nil); !bytes.Equal(got, state) {
				d.fail("state of %.9q is %x, but %x with one batch for each op", op.Key, got, state)
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

// compareReplay checks a key in the engine that applied only the logged changes.
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

// compare compares a decision, and records it and the ends of its waits.
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

// comparePrints checks that the last op changed the fingerprint exactly if it changed the
// state.
func (d *modelTest) comparePrints(before *modelKey, print int64) {
	key := d.batch.Ops[0].Key
	after := d.model.find(key)
	changed := (before == nil) != (after == nil)
	if before != nil && after != nil {
		changed = !sameState(before, after, d.model.now)
	}
	if d.batch.Ops[0].Kind == engine.Acquire && d.batch.Decisions[0].Allowed == 1 {
		return // a renewal at the same instant writes, even if nothing changes
	}
	if now := d.e.Fingerprint(engine.Instant(d.model.now), 0, key); (now != print) != changed {
		d.fail("fingerprint went from %d to %d, but state changed: %t", print, now, changed)
	}
}

// sameState compares the states of two keys at t.
func sameState(a, b *modelKey, t int64) bool {
	if a.p != b.p {
		return false
	}
	if a.permits == nil {
		return maps.Equal(a.live(t), b.live(t))
	}
	if x, ok := a.permits.(*slideModel); ok && !x.sameCounts(a.p, b.permits.(*slideModel), t) {
		return false
	}
	return a.permits.used(a.p, t).Cmp(b.permits.used(b.p, t)) == 0
}

// compareTables compares the sets of keys, before and after a whole sweep.
func (d *modelTest) compareTables() {
	latest := engine.Instant(d.model.now)
	found := map[string]bool{}
	for cursor, calls := uint64(0), 0; ; calls++ {
		cursor = d.e.Scan(latest, 0, cursor, 2, func(key []byte, a engine.Alg) {
			found[string(key)] = true
			if k := d.model.find(key); k == nil || k.p.Alg != a {
				d.fail("scan found %q as %v, the model has %+v", key, a, k)
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
			d.fail("scan found %.9q: %t, but it exists: %t", key, found[string(key)], there)
		}
		d.compareReplay(key)
		if (d.e.KeyBytes(latest, 0, key) > 0) != there {
			d.fail("KeyBytes of %.9q is %d, but it exists: %t", key, d.e.KeyBytes(latest, 0, key), there)
		}
	}
	d.e.SweepExpired(latest, 4*d.shards+64)
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
	return fmt.Sprintf("%s len(key)=%d %q n=%d mode=%d group=%d %+v", op.Kind, len(op.Key), op.ID, op.N, op.Mode, op.Group,
		op.Params)
}

// nanos converts a span that fits into an int64.
func nanos(s engine.Span) int64 { return s.Millis*1e6 + s.Nanos }

// randomBytes returns n bytes for a source.
func randomBytes(r *rand.Rand, n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// TestModel applies random sequences. A failure names the seed that repeats it.
func TestModel(t *testing.T) {
	testwait.Long(t)
	for seed := range uint64(800 / testwait.Slowdown()) {
		r := rand.New(rand.NewPCG(seed, 1))
		newModelTest(t, fmt.Sprint("seed ", seed), randomBytes(r, 200+r.IntN(1200))).run()
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
