package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"limitsrv/commands/calls"
	"limitsrv/commands/rules/stored"
	"limitsrv/engine"
	"limitsrv/persist"
)

// bare are the Commands without tags.
var bare = calls.Commands

// everything makes batches of all requests of Everything, in random order, again and again. Leases
// have few holders.
type everything struct {
	rng  *rand.Rand
	keys Workload
	left []func() Request
	now  engine.Instant
	e    *engine.Engine // tells the client the versions
}

// next returns the next batch, of a level.
func (x *everything) next(level uint8) *engine.Batch {
	if len(x.left) == 0 {
		x.left = x.keys.Everything(x.rng)
		x.rng.Shuffle(len(x.left), func(i, j int) { x.left[i], x.left[j] = x.left[j], x.left[i] })
	}
	x.keys.Known.Documents = x.e.DocumentsVersion(engine.Rules)
	r := x.left[0]()
	x.left = x.left[1:]
	if x.rng.IntN(20) == 0 { // a transaction
		fingerprint := x.e.Fingerprint(x.now, 0, []byte("every:s1"))
		r.Ops = append(r.Ops, engine.Op{Kind: engine.Watch, Key: []byte("every:s1")},
			engine.Op{Kind: engine.Expect, Key: []byte("every:s1"), N: fingerprint})
		r.Atomic = true
	}
	for i := range r.Ops {
		if k := r.Ops[i].Kind; k == engine.Acquire || k == engine.Release {
			r.Ops[i].ID = fmt.Append(nil, "holder ", x.rng.IntN(4))
		}
	}
	b := r.Batch()
	b.Level, b.Full, b.Tight = level, x.rng.IntN(10) == 0, x.rng.IntN(10) == 0
	x.now += engine.Instant(x.rng.Int64N(2e8))
	return b
}

// told notes the version of the rules from the answers of a batch.
func (x *everything) told(b *engine.Batch) {
	for i := range b.Calls {
		c := &b.Calls[i]
		if a, err := stored.ReadLoad(c.Answer); err == nil && stored.CallName(c.Command) == loadRules {
			x.keys.Known.Rules = a.Version
		}
	}
}

// TestEverythingIsReplayed applies everything that Members has, as entries of a log, to an engine
// at once, to a replay in parallel, and to a replay that starts with a snapshot. Entries are of
// each level in turn, as after upgrades. The states must be
// equal, and all members must occur before and after the upgrade. A new member without a maker
// fails it by its name.
func TestEverythingIsReplayed(t *testing.T) {
	for seed := range uint64(4) {
		options := engine.Options{Shards: 1 << seed, Seed: [16]byte{5}, Commands: bare, Effects: true}
		e, replica := engine.New(options), engine.New(engine.Options{Shards: 16, Seed: options.Seed, Commands: bare})
		var copied *engine.Engine
		replay := replica.NewReplay(inParallel)
		replay.Ahead(inBackground)
		decoder, again := persist.Decoder{Commands: bare}, persist.Decoder{Commands: bare}
		x := &everything{rng: rand.New(rand.NewPCG(seed, 3)), now: 1e18, e: e}
		for level := uint8(1); level <= bare.Level(); level++ {
			seen := Coverage{}
			for range 8 * len(makers) {
				b := x.next(level)
				seen.Add(b)
				if !holds(e, x.now, b) {
					continue
				}
				var entry persist.Entry
				entry.Append(x.now, b)
				apply := func(d *persist.Decoder, to func(engine.Instant, *engine.Batch)) {
					if err := d.Decode(entry.Bytes(),
						func(at engine.Instant, b *engine.Batch) error { to(at, b); return nil }); err != nil {
						t.Fatalf("seed %d: %v: %s", seed, err, Text(b.Ops, b.Calls))
					}
				}
				apply(&decoder, replay.Apply)
				if copied != nil {
					apply(&again, copied.Apply)
				}
				e.Apply(x.now, b)
				x.told(b)
			}
			if missing := seen.Missing(); len(missing) > 0 {
				t.Errorf("seed %d: entries of level %d lack %q", seed, level, missing)
			}
			copied = copyOf(t, e, engine.Options{Shards: 4, Seed: options.Seed, Commands: bare})
		}
		replay.Finish()
		want := e.Digest(x.now)
		if got, loaded := replica.Digest(x.now), copied.Digest(x.now); got != want || loaded != want {
			t.Errorf("seed %d: digest %x after a replay, %x from a snapshot, want %x", seed, got, loaded, want)
		}
	}
}

// holds removes the Expects of a batch, and reports whether all of them hold. The logs of nodes
// have no Expects, because the fingerprints of one state differ between engines.
func holds(e *engine.Engine, now engine.Instant, b *engine.Batch) bool {
	all := true
	b.Ops = slices.DeleteFunc(b.Ops, func(op engine.Op) bool {
		all = all && (op.Kind != engine.Expect || e.Fingerprint(now, op.DB, op.Key) == op.N)
		return op.Kind == engine.Expect
	})
	return all
}

// TestEverythingHasAllMembers counts the members of a round of Everything, for many seeds. A
// simulation asks for one round at its end, and fails if a member is missing.
func TestEverythingHasAllMembers(t *testing.T) {
	for seed := range uint64(200) {
		rng, seen := rand.New(rand.NewPCG(seed, 4)), Coverage{}
		for _, next := range new(Workload).Everything(rng) {
			r := next()
			seen.Add(r.Batch())
		}
		watched := []string{kindMember(engine.Expect), kindMember(engine.Watch)}
		if missing := seen.Missing(); !slices.Equal(missing, watched) {
			t.Fatalf("seed %d: one round lacks %q, want only %q", seed, missing, watched)
		}
	}
}

// TestLinesAreOfCommands finds lines of unknown commands.
func TestLinesAreOfCommands(t *testing.T) {
	for name := range lines {
		if !slices.Contains(Members(), callMember(name)) {
			t.Errorf("lines of %s, which is no command", name)
		}
	}
}

// inParallel calls each for numbers from 0 to n-1.
func inParallel(n int, each func(int)) {
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { each(i) })
	}
	wait.Wait()
}

// inBackground calls work on a goroutine of its own.
func inBackground(work func()) (wait func()) {
	var group sync.WaitGroup
	group.Go(work)
	return group.Wait
}

// copyOf returns an engine with the state of another, through a snapshot.
func copyOf(t *testing.T, from *engine.Engine, o engine.Options) *engine.Engine {
	t.Helper()
	e, view := engine.New(o), from.Freeze()
	defer view.Close()
	for shard := range view.Shards() {
		for block, _, ok := view.Next(shard, nil); ok; block, _, ok = view.Next(shard, nil) {
			if err := engine.CheckBlock(block); err != nil {
				t.Fatal(err)
			}
			if err := e.Load(block); err != nil {
				t.Fatal(err)
			}
		}
	}
	e.SetTime(view.Now())
	return e
}
