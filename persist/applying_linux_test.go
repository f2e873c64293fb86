package persist

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

// A markReader is a command: it looks whether the mark covers the entry that calls it, the number in
// its second argument, and panics if that is the poison. Its third argument is ballast.
type markReader struct {
	file     string
	poison   uint64
	outside  *atomic.Int64
	everyKey bool // the call may touch any key, so it is applied by itself
}

func (markReader) Level() uint8               { return 1 }
func (markReader) Check(c *engine.Call) error { return nil }
func (m markReader) Keys(_ *engine.Call, dst []int) ([]int, bool) {
	return append(dst, 0), m.everyKey
}

func (m markReader) Do(_ *engine.Tx, c *engine.Call) {
	index, _ := strconv.ParseUint(string(c.Args[1]), 10, 64)
	mark, err := readApplying(vfs.Default, m.file)
	if first := min(max(1, mark.first), mark.last); err != nil || index < first || index > mark.last {
		m.outside.Add(1)
	}
	if index == m.poison {
		panic("poison")
	}
}

// entryOf returns the entry with an index of a log for a markReader.
func entryOf(index uint64, ballast []byte) []byte {
	b := &engine.Batch{Level: 1}
	b.AddCall(0).Args = [][]byte{fmt.Append(nil, "key ", index%97), fmt.Append(nil, index), ballast}
	var e Entry
	e.Append(1e18, b)
	return e.Bytes()
}

// openMark opens the mark in dir with a log to text.
func openMark(t *testing.T, dir string, text *strings.Builder) *Applying {
	t.Helper()
	a, err := OpenApplying(vfs.Default, dir, dir, true, slog.New(slog.NewTextHandler(text, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// While entries are decoded and applied at the same time, the mark covers all that are being applied.
func TestMarkCoversReplay(t *testing.T) {
	for _, everyKey := range []bool{false, true} {
		dir := t.TempDir()
		m := markReader{file: filepath.Join(dir, applyingName), outside: new(atomic.Int64), everyKey: everyKey}
		e := engine.New(engine.Options{Commands: m})
		replay := newReplay(e, "log", openMark(t, dir, new(strings.Builder)), 1)
		narrowed := false
		for index := uint64(1); index <= 4000; index++ {
			if err := replay.entry(index, entryOf(index, make([]byte, 16<<10))); err != nil {
				t.Fatal(err)
			}
			narrowed = narrowed || replay.mark.mark.first > 1
		}
		replay.finish()
		if n := m.outside.Load(); n > 0 || !narrowed {
			t.Errorf("every key %v: %d entries were applied outside of the mark; the mark became narrower: %v", everyKey, n,
				narrowed)
		}
		if left, err := readApplying(vfs.Default, m.file); err != nil || left != (applyingMark{}) {
			t.Errorf("the mark after the replay is %+v, %v", left, err)
		}
	}
}

// An entry ends each process. The first process applies it together with other entries, the second
// applies them one at a time, the third knows the entry, and the fourth refuses.
func TestSuspectsBecomeOne(t *testing.T) {
	dir := t.TempDir()
	m := markReader{file: filepath.Join(dir, applyingName), outside: new(atomic.Int64), poison: 42}
	var log strings.Builder
	start := func(poison uint64) (err error) {
		m.poison = poison
		a := openMark(t, dir, &log)
		if err := a.Check(10, 100, nil); err != nil {
			return err
		}
		replay := newReplay(engine.New(engine.Options{Commands: m}), "log", a, 11)
		defer func() {
			if p := recover(); p != nil {
				err = errors.New("died")
			}
		}()
		for index := uint64(11); index <= 100; index++ {
			if err := replay.entry(index, entryOf(index, nil)); err != nil {
				return err
			}
		}
		replay.finish()
		return nil
	}
	for i, want := range []Deaths{{11, 100, 1, ""}, {42, 42, 2, ""}, {42, 42, 3, "some text"}} {
		if err := start(42); err == nil || err.Error() != "died" {
			t.Fatalf("start %d: %v", i, err)
		}
		d, err := readDeaths(vfs.Default, dir)
		mark, err2 := readApplying(vfs.Default, m.file)
		if d = d.and(mark); err != nil || err2 != nil || d.First != want.First || d.Last != want.Last ||
			d.Count != want.Count || (d.What != "") != (want.What != "") {
			t.Errorf("start %d: deaths %+v, %v, %v, want %+v", i, d, err, err2, want)
		}
	}
	for range 2 {
		err := start(42)
		var poison *PoisonError
		if !errors.As(err, &poison) || !strings.Contains(err.Error(), "limitsrv recover "+dir+" --skip-entry 42 ") ||
			!strings.Contains(err.Error(), "command 0 with 1 keys") {
			t.Errorf("it starts: %v", err)
		}
	}
	if err := os.Remove(filepath.Join(dir, deathsName)); err != nil {
		t.Fatal(err)
	}
	if err := start(42); err == nil || err.Error() != "died" {
		t.Errorf("after the record was removed: %v", err)
	}
	if err := start(0); err != nil || !strings.Contains(log.String(), "has been applied") {
		t.Errorf("when the entry does no harm: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, deathsName)); !os.IsNotExist(err) {
		t.Errorf("the record stays: %v", err)
	}
	if n := m.outside.Load(); n > 0 {
		t.Errorf("%d entries were applied outside of the mark", n)
	}
}

// A suspect that will not be applied is forgotten.
func TestSuspectsAreForgotten(t *testing.T) {
	for _, tt := range []struct {
		name        string
		deaths      Deaths
		after, last uint64
		skipped     SkippedEntries
		stays, fail bool
	}{
		{"it kills", Deaths{5, 5, 3, ""}, 4, 5, nil, true, true},
		{"it killed twice", Deaths{5, 5, 2, ""}, 4, 5, nil, true, false},
		{"one of several", Deaths{4, 5, 9, ""}, 3, 5, nil, true, false},
		{"a snapshot has it", Deaths{5, 5, 3, ""}, 5, 9, nil, false, false},
		{"it was not logged", Deaths{5, 5, 3, ""}, 3, 4, nil, false, false},
		{"it is skipped", Deaths{5, 5, 3, ""}, 3, 9, SkippedEntries{{Index: 5}}, false, false},
		{"another is skipped", Deaths{5, 5, 3, ""}, 3, 9, SkippedEntries{{Index: 6}}, true, true},
	} {
		dir := t.TempDir()
		if err := WriteSealed(vfs.Default, dir, deathsName, deathsWhat, deathsFormat, tt.deaths); err != nil {
			t.Fatal(err)
		}
		err := openMark(t, dir, new(strings.Builder)).Check(tt.after, tt.last, tt.skipped)
		_, stat := os.Stat(filepath.Join(dir, deathsName))
		if (err != nil) != tt.fail || (stat == nil) != tt.stays {
			t.Errorf("%s: %v, the record: %v", tt.name, err, stat)
		}
	}
}

// In another boot of the machine the mark is of no process, and on a file system in memory there is no
// mark.
func TestMarksWithoutMeaning(t *testing.T) {
	dir := t.TempDir()
	a := openMark(t, dir, new(strings.Builder))
	a.Begin(7)
	other, err := OpenApplying(vfs.Default, dir, dir, false, slog.New(slog.DiscardHandler))
	if err != nil || other.suspect.Last != 0 {
		t.Errorf("in another boot: %+v, %v", other.suspect, err)
	}
	mem := vfs.NewMem()
	a, err = OpenApplying(mem, "", "", true, slog.New(slog.DiscardHandler))
	if err != nil || a.Begin(7) {
		t.Errorf("in memory: %v", err)
	}
	if names, err := mem.List(""); err != nil || len(names) > 0 {
		t.Errorf("files %v in memory, %v", names, err)
	}
}

func TestMarkAllocatesNothing(t *testing.T) {
	a := openMark(t, t.TempDir(), new(strings.Builder))
	if n := testing.AllocsPerRun(1000, func() {
		a.Begin(7)
		a.End()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMark(b *testing.B) {
	a, err := OpenApplying(vfs.Default, b.TempDir(), "", true, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	suspects := 0
	for i := 0; b.Loop(); i++ {
		if a.Begin(uint64(i)) {
			suspects++
		}
		a.End()
	}
}
