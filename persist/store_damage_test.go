package persist

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

var storeDamages = flag.Int("store-damages", defaultStoreDamages(), "how many times a data directory is damaged")

func defaultStoreDamages() int {
	if testwait.RaceDetector {
		return 180
	}
	return 2000
}

// A history is a list of batches in the order of execution, with their decisions.
type history []pastBatch

type pastBatch struct {
	now engine.Instant
	ops []engine.Op
}

// seqKey counts the batches.
const seqKey = "seq"

// perform executes random batches and records them.
func (h *history) perform(t *testing.T, s *Store, rng *rand.Rand, batches int) {
	t.Helper()
	clock := s.o.Clock.(*testClock)
	for range batches {
		b := engine.Batch{Ops: []engine.Op{{Kind: engine.Take, Params: counterOf, N: 1, Key: []byte(seqKey)}}}
		for range 12 {
			b.Ops = append(b.Ops, randomCount(rng))
		}
		*h = append(*h, pastBatch{clock.Now(), b.Ops})
		if err := perform(s, &b); err != nil {
			t.Fatal(err)
		}
		clock.add(time.Millisecond)
	}
}

// randomCount takes permits from a key of some algorithm. No key regains permits soon.
func randomCount(rng *rand.Rand) engine.Op {
	params := [...]engine.Params{
		counterOf, counterOf,
		{Alg: engine.Token, Limit: 1000, Count: 1, Period: engine.MaxPeriod},
		{Alg: engine.Log, Limit: 50, Period: engine.MaxPeriod},
		{Alg: engine.Lease, Limit: 10, Period: engine.MaxPeriod},
	}
	p := params[rng.IntN(len(params))]
	op := engine.Op{Kind: engine.Take, Params: p, N: 1 + rng.Int64N(3),
		Key: fmt.Appendf(nil, "%v:%d", p.Alg, rng.IntN(400))}
	if p.Alg == engine.Lease {
		op.Kind, op.N, op.ID = engine.Acquire, 1, fmt.Appendf(nil, "id%d", rng.IntN(1000))
	}
	return op
}

// peeks reads all keys of the history. The first decision is about seqKey.
func (h history) peeks() *engine.Batch {
	b := &engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte(seqKey)}}}
	seen := map[string]bool{seqKey: true}
	for _, past := range h {
		for _, op := range past.ops {
			if !seen[string(op.Key)] {
				seen[string(op.Key)] = true
				b.Ops = append(b.Ops, engine.Op{Kind: engine.Peek, Key: op.Key})
			}
		}
	}
	return b
}

// kept returns how many of the batches a Store has. It is an error if its state differs
// from that after the first such batches.
func (h history) kept(s *Store) (int, error) {
	n, got, want := int(used(s, seqKey)), h.peeks(), h.peeks()
	if n > len(h) {
		return 0, fmt.Errorf("it has counted %d batches of %d", n, len(h))
	}
	if err := perform(s, got); err != nil {
		return 0, err
	}
	model := engine.New(engine.Options{})
	for _, past := range h[:n] {
		model.Apply(past.now, &engine.Batch{Ops: past.ops})
	}
	model.Apply(s.o.Clock.Now(), want)
	for i := range want.Ops {
		if got.Decisions[i] != want.Decisions[i] {
			return 0, fmt.Errorf("after %d batches of %d: %s is %+v, want %+v", n, len(h), want.Ops[i].Key, got.Decisions[i],
				want.Decisions[i])
		}
	}
	return n, nil
}

// A damageCase is a data directory to be damaged.
type damageCase struct {
	disk    *vfs.MemFS
	o       Options
	history history
	// least is the number of batches that must be there if it opens.
	least int
	// booted: the machine has gone down.
	booted bool
}

// damageCases are data directories as servers leave them.
var damageCases = []struct {
	name   string
	policy Policy
	make   func(t *testing.T, w *damageCase, rng *rand.Rand)
}{
	{"a log", Always, func(t *testing.T, w *damageCase, rng *rand.Rand) {
		w.run(t, rng, 150, false)
	}},
	{"a log, everysec", EverySecond, func(t *testing.T, w *damageCase, rng *rand.Rand) {
		w.run(t, rng, 150, false)
	}},
	{"a snapshot", EverySecond, func(t *testing.T, w *damageCase, rng *rand.Rand) {
		w.run(t, rng, 150, true)
	}},
	{"a snapshot and a log", Always, func(t *testing.T, w *damageCase, rng *rand.Rand) {
		w.run(t, rng, 100, true)
		w.run(t, rng, 100, false)
	}},
	{"a snapshot, a log and a backup", Never, func(t *testing.T, w *damageCase, rng *rand.Rand) {
		w.run(t, rng, 100, true)
		s := start(t, w.o)
		w.history.perform(t, s, rng, 20)
		done := make(chan error)
		if err := s.Backup("b", func(_ string, err error) { done <- err }); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		w.history.perform(t, s, rng, 60)
		end(t, s, false)
	}},
	{"the log of a killed process", Never, runKilled},
	{"the log of a killed process, always", Always, runKilled},
	{"a power failure", EverySecond, func(t *testing.T, w *damageCase, rng *rand.Rand) {
		w.run(t, rng, 80, true)
		s := start(t, w.o)
		w.history.perform(t, s, rng, 60)
		if err := s.log.Load().Sync(); err != nil {
			t.Fatal(err)
		}
		w.least, w.booted = len(w.history), true
		w.history.perform(t, s, rng, 20)
		w.disk = w.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng})
		end(t, s, false)
	}},
}

// runKilled runs a Store and kills its process.
func runKilled(t *testing.T, w *damageCase, rng *rand.Rand) {
	s := start(t, w.o)
	w.history.perform(t, s, rng, 150)
	w.disk = w.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng})
	end(t, s, false)
}

// run starts a Store, executes batches, and closes it.
func (w *damageCase) run(t *testing.T, rng *rand.Rand, batches int, save bool) {
	t.Helper()
	s := start(t, w.o)
	w.history.perform(t, s, rng, batches)
	end(t, s, save)
}

func newDamageCase(t *testing.T, policy Policy, rng *rand.Rand,
	make func(*testing.T, *damageCase, *rand.Rand)) *damageCase {
	w := &damageCase{disk: vfs.NewCrashableMem()}
	w.o = testOptions(t, w.disk, policy)
	w.o.SegmentBytes = 8 << 10
	made := w.disk
	make(t, w, rng)
	if w.disk == made { // it was closed cleanly: everything is on disk
		w.least = len(w.history)
		w.disk = made.CrashClone(vfs.CrashCloneCfg{})
	}
	return w
}

// A damageKind damages a file.
type damageKind struct {
	name string
	do   func(rng *rand.Rand, data []byte) []byte // nil: the file is removed
	// isFlip: the lost entries existed, so the loss is detectable.
	isFlip bool
}

func flipBit(rng *rand.Rand, data []byte) []byte {
	data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
	return data
}

var wounds = []damageKind{
	{"a bit flips", flipBit, true},
	{"a bit flips", flipBit, true},
	{"a bit flips", flipBit, true},
	{"a bit flips", flipBit, true},
	{name: "it is truncated", do: func(rng *rand.Rand, data []byte) []byte { return data[:rng.IntN(len(data))] }},
	{name: "a block is zeroed", do: func(rng *rand.Rand, data []byte) []byte {
		at := rng.IntN(len(data)) &^ 4095
		clear(data[at:min(len(data), at+4096)])
		return data
	}},
	{name: "it is removed"},
}

// pickFile chooses a file: half of the time by size, otherwise uniformly.
func pickFile(rng *rand.Rand, files []string, sizes []int64) string {
	if rng.IntN(2) == 0 {
		return files[rng.IntN(len(files))]
	}
	var sum int64
	for _, n := range sizes {
		sum += n
	}
	at := rng.Int64N(sum)
	for i, n := range sizes {
		if at -= n; at < 0 {
			return files[i]
		}
	}
	panic("unreachable")
}

// outcomes counts the outcomes of damaged directories.
type outcomes struct {
	right, cut, rejected, repaired, lostByFix int
}

// TestStoreDamage damages data directories in many ways, with and without a crash of the
// machine before. A Store must open them with the exact state, or reject them and name
// the file, which Check must then find damaged and Repair must fix. After a crash of the
// machine unsynced decisions may be missing, and Check and the log must report that.
func TestStoreDamage(t *testing.T) {
	testwait.Long(t)
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	for i, tt := range damageCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			w := newDamageCase(t, tt.policy, rng, tt.make)
			files := filesOf(t, w.disk, testDir)
			sizes := make([]int64, len(files))
			for i, name := range files {
				stat, err := w.disk.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				sizes[i] = stat.Size()
			}
			var a outcomes
			for range (*storeDamages + len(damageCases) - 1) / len(damageCases) {
				name := pickFile(rng, files, sizes)
				wound := wounds[rng.IntN(len(wounds))]
				booted := w.booted || rng.IntN(2) == 0
				if err := inTime(func() error { return w.checkDamage(rng, name, wound, booted, &a) }); err != nil {
					t.Errorf("seed %d: %s: %s, booted %v: %v", seed, name, wound.name, booted, err)
				}
			}
			t.Logf("%d files, %d bytes: %d opened right, %d opened without the unsynced end, %d rejected; of these %d "+
				"repaired, %d with a loss",
				len(files), total(sizes), a.right, a.cut, a.rejected, a.repaired, a.lostByFix)
		})
	}
}

func total(sizes []int64) (sum int64) {
	for _, n := range sizes {
		sum += n
	}
	return sum
}

// inTime calls a function that must neither panic nor hang.
func inTime(do func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("panic: %v", p)
			}
		}()
		done <- do()
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(testwait.Scaled(time.Minute)):
		return errors.New("timeout")
	}
}

// checkDamage damages a file in a copy of the directory and checks the outcome.
func (w *damageCase) checkDamage(rng *rand.Rand, name string, how damageKind, booted bool, a *outcomes) error {
	disk, err := w.damaged(rng, name, how, booted)
	if err != nil {
		return err
	}
	o := w.o
	var said, logged strings.Builder
	o.FS, o.Logger = disk, slog.New(slog.NewTextHandler(&logged, nil))
	checked := Check(disk, testDir, o.Engine.Commands, func(line string) { fmt.Fprintln(&said, line) })
	kept, err := countKept(o, w.history)
	var wrong *wrongState
	switch {
	case errors.As(err, &wrong):
		return err
	case err == nil && kept < w.least:
		return fmt.Errorf("it opens with %d batches of %d, at least %d are on disk; check returns %v\n%s", kept,
			len(w.history), w.least, checked, &said)
	case err == nil && kept < len(w.history) && how.isFlip && !w.booted &&
		!(booted && errors.Is(checked, ErrDrops) && strings.Contains(logged.String(), "WARN msg=\"torn end of the log")):
		return fmt.Errorf("it opens with %d batches of %d; check returns %v\n%s\nand the log:\n%s", kept, len(w.history),
			checked, &said, &logged)
	case err == nil && kept < len(w.history):
		a.cut++
	case err == nil:
		a.right++
	default:
		a.rejected++
		if !errors.Is(checked, ErrDamaged) {
			return fmt.Errorf("it is rejected: %v; but check finds no damage:\n%s", err, &said)
		}
		if !names(err.Error(), name, how.do == nil) || !names(said.String(), name, how.do == nil) {
			return fmt.Errorf("it is rejected without the name of the file: %v\ncheck: %v\n%s", err, checked, &said)
		}
		return w.checkRepair(o, a)
	}
	return nil
}

// names reports whether a text names a file. For files that list Pebble's tables, and for
// files removed without a trace, the directory suffices.
func names(text, file string, gone bool) bool {
	dir, base := path.Split(file)
	if path.Base(dir) == storeName && !strings.HasSuffix(file, ".sst") {
		return strings.Contains(text, path.Clean(dir))
	}
	if gone && path.Base(dir) == snapshotsDir { // the file left no trace
		return strings.Contains(text, path.Clean(dir))
	}
	return strings.Contains(text, strings.TrimSuffix(base, ".sst"))
}

// damaged returns a copy of the directory with one damaged file.
func (w *damageCase) damaged(rng *rand.Rand, name string, how damageKind, booted bool) (*vfs.MemFS, error) {
	disk := w.disk.CrashClone(vfs.CrashCloneCfg{})
	if booted {
		if err := writeBoot(disk, testDir, "another"); err != nil {
			return nil, err
		}
	}
	if how.do == nil {
		return disk, disk.Remove(name)
	}
	data, err := readSmall(disk, name, 1<<30)
	if err != nil {
		return nil, err
	}
	return disk, WriteSynced(disk, name, how.do(rng, bytes.Clone(data)))
}

// digest returns a checksum of all files below a directory.
func digest(fsys vfs.FS, dir string) (sum uint32, err error) {
	names, err := fsys.List(dir)
	if err != nil {
		return 0, err
	}
	slices.Sort(names)
	for _, name := range names {
		stat, err := fsys.Stat(fsys.PathJoin(dir, name))
		if err != nil {
			return 0, err
		}
		var of uint32
		if stat.IsDir() {
			of, err = digest(fsys, fsys.PathJoin(dir, name))
		} else {
			var data []byte
			data, err = readSmall(fsys, fsys.PathJoin(dir, name), 1<<30)
			of = crc32.Checksum(data, castagnoli)
		}
		if err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, castagnoli, fmt.Appendf(nil, "%s %08x ", name, of))
	}
	return sum, nil
}

// checkRepair repairs a rejected directory.
func (w *damageCase) checkRepair(o Options, a *outcomes) error {
	before, err := digest(o.FS, testDir)
	if err != nil {
		return err
	}
	var asked []string
	err = Repair(o.FS, testDir, o.Engine.Commands, func(string) {},
		func(question string) bool { asked = append(asked, question); return false })
	if after, _ := digest(o.FS, testDir); err == nil || len(asked) != 1 || after != before {
		return fmt.Errorf("repair without consent: %w, after %q, or it changed a file", err, asked)
	}
	asked = nil
	err = Repair(o.FS, testDir, o.Engine.Commands, func(string) {},
		func(question string) bool { asked = append(asked, question); return true })
	if err != nil {
		return fmt.Errorf("repair: %w, after %q", err, asked)
	}
	if err := Check(o.FS, testDir, o.Engine.Commands, func(string) {}); err != nil {
		return fmt.Errorf("check after repair: %w, after %q", err, asked)
	}
	kept, err := countKept(o, w.history)
	if err != nil {
		return fmt.Errorf("after repair: %w, after %q", err, asked)
	}
	a.repaired++
	if kept < w.least {
		a.lostByFix++
	}
	return nil
}

// A wrongState is an error about a state that never existed.
type wrongState struct{ error }

// countKept starts a Store on a directory and returns how many batches of a history it has.
// Its own decisions must be there after the next start.
func countKept(o Options, h history) (kept int, err error) {
	s, err := openRecovered(o)
	if err != nil {
		return 0, err
	}
	kept, err = h.kept(s)
	if err != nil {
		return 0, errors.Join(&wrongState{err}, s.Close(context.Background(), SaveNever))
	}
	if kept < len(h) {
		return kept, s.Close(context.Background(), SaveNever)
	}
	more := slices.Clone(h)
	b := engine.Batch{Ops: []engine.Op{{Kind: engine.Take, Params: counterOf, N: 1, Key: []byte(seqKey)}}}
	more = append(more, pastBatch{o.Clock.Now(), b.Ops})
	if err := perform(s, &b); err != nil {
		return 0, errors.Join(&wrongState{err}, s.Close(context.Background(), SaveNever))
	}
	_ = s.Close(context.Background(), SaveAlways) // may fail: a readable directory need not be writable
	if s, err = openRecovered(o); err != nil {
		return 0, &wrongState{fmt.Errorf("it opened, but is rejected after a restart: %w", err)}
	}
	if got, err := more.kept(s); err != nil || got != len(more) {
		return 0, errors.Join(&wrongState{fmt.Errorf("after the next start %d batches of %d: %w", got, len(more), err)},
			s.Close(context.Background(), SaveNever))
	}
	return kept, s.Close(context.Background(), SaveNever)
}

// openRecovered returns a Store that has recovered.
func openRecovered(o Options) (*Store, error) {
	s, err := Open(o)
	if err != nil {
		return nil, err
	}
	if err := s.Recover(context.Background()); err != nil {
		if end := s.Close(context.Background(), SaveNever); end != nil && !errors.Is(end, fs.ErrClosed) {
			err = fmt.Errorf("%w; close: %w", err, end)
		}
		return nil, err
	}
	return s, nil
}
