package persist

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/raft"

	"limitsrv/internal/testing/testwait"
)

var (
	_ raft.LogStore          = (*RaftLog)(nil)
	_ raft.MonotonicLogStore = (*RaftLog)(nil)
)

// A raftModel is the reference model of a RaftLog.
type raftModel struct {
	first, last uint64 // first is last+1 if there are no entries
	entries     map[uint64]raft.Log
}

func newRaftModel() *raftModel { return &raftModel{first: 1, entries: map[uint64]raft.Log{}} }

func (w *raftModel) empty() bool { return w.first > w.last }

func (w *raftModel) clone() *raftModel {
	c := &raftModel{w.first, w.last, make(map[uint64]raft.Log)}
	for i, e := range w.entries {
		c.entries[i] = e
	}
	return c
}

func (w *raftModel) store(entries []*raft.Log) {
	if w.empty() {
		w.first = entries[0].Index
	}
	for _, e := range entries {
		w.entries[e.Index] = *e
		w.last = e.Index
	}
}

func (w *raftModel) delete(from, to uint64) {
	for i := from; i <= to; i++ {
		delete(w.entries, i)
	}
	if from <= w.first {
		w.first = min(to, w.last) + 1
	} else {
		w.last = from - 1
	}
}

// A raftStep is a change of a raft log.
type raftStep struct {
	store    []*raft.Log // or, if empty,
	from, to uint64      // the entries to delete
}

func (s raftStep) String() string {
	if len(s.store) > 0 {
		return fmt.Sprintf("store %d to %d", s.store[0].Index, s.store[len(s.store)-1].Index)
	}
	return fmt.Sprintf("delete %d to %d", s.from, s.to)
}

func (s raftStep) apply(w *raftModel) {
	if len(s.store) > 0 {
		w.store(s.store)
	} else {
		w.delete(s.from, s.to)
	}
}

func (s raftStep) perform(r *RaftLog) error {
	if len(s.store) > 0 {
		return r.StoreLogs(s.store)
	}
	return r.DeleteRange(s.from, s.to)
}

// drawRaftStep draws a step that raft may apply to a log with state w. Terms ascend, so
// that no entry equals the entry that it replaces.
func drawRaftStep(r *rand.Rand, w *raftModel, term uint64) (s raftStep) {
	size := w.last + 1 - w.first
	switch kind := r.IntN(20); {
	case kind < 2 && size > 1: // a conflict: the end is replaced
		s.from = w.first + 1 + r.Uint64N(size-1)
		s.to = w.last + r.Uint64N(2)*5
	case kind < 4 && size > 1: // compaction
		s.from = w.first - r.Uint64N(min(2, w.first))
		s.to = w.first + r.Uint64N(size-1)
	case kind == 4 && size > 0: // a snapshot was installed
		s.from, s.to = w.first, w.last
	default:
		next := w.last + 1
		if w.empty() && r.IntN(3) > 0 { // a gap, or sometimes an earlier index
			next = max(1, w.last-min(w.last, 30)+r.Uint64N(100))
		}
		for i := range 1 + r.Uint64N(5) {
			s.store = append(s.store, raftEntry(r, next+i, term))
		}
	}
	return s
}

func raftEntry(r *rand.Rand, index, term uint64) *raft.Log {
	e := &raft.Log{Index: index, Term: term, Type: raft.LogType(r.IntN(6)), Data: payload(index + term)}
	if r.IntN(3) == 0 {
		e.Extensions = []byte("more")
	}
	if r.IntN(3) == 0 {
		e.AppendedAt = time.Unix(0, 1+r.Int64N(1e18))
	}
	return e
}

// readRaft returns the state of a raft log, or an error if it contradicts itself.
func readRaft(r *RaftLog) (*raftModel, error) {
	first, err1 := r.FirstIndex()
	last, err2 := r.LastIndex()
	if err := errors.Join(err1, err2); err != nil || (first == 0) != (last == 0) || first > last {
		return nil, fmt.Errorf("it holds %d to %d, %v", first, last, err)
	}
	w := &raftModel{first: first, last: last, entries: map[uint64]raft.Log{}}
	if first == 0 {
		w.first, w.last = r.log.First(), r.log.Last()
	}
	if w.first != r.log.First() || w.last != r.log.Last() || r.log.Synced() > w.last {
		return nil, fmt.Errorf("it holds %d to %d, but its log %d to %d, synced to %d", first, last, r.log.First(),
			r.log.Last(), r.log.Synced())
	}
	for i := first; i <= last && i > 0; i++ {
		var e raft.Log
		if err := r.GetLog(i, &e); err != nil {
			return nil, err
		}
		w.entries[i] = e
	}
	for _, i := range []uint64{0, w.first - 1, w.last + 1, w.last + 1000} {
		if err := r.GetLog(i, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
			return nil, fmt.Errorf("entry %d of %d to %d: %v, want %v", i, first, last, err, raft.ErrLogNotFound)
		}
	}
	return w, nil
}

// differs returns the difference between two models.
func (w *raftModel) differs(want *raftModel) error {
	if w.empty() != want.empty() || !w.empty() && (w.first != want.first || w.last != want.last) {
		return fmt.Errorf("it holds %d to %d, want %d to %d", w.first, w.last, want.first, want.last)
	}
	return w.hasOnly(want)
}

// hasOnly returns an error for entries of w that are not in want.
func (w *raftModel) hasOnly(want *raftModel) error {
	for i, got := range w.entries {
		e, ok := want.entries[i]
		if !ok || got.Term != e.Term || got.Index != e.Index || got.Type != e.Type || !got.AppendedAt.Equal(e.AppendedAt) ||
			string(got.Data) != string(e.Data) || string(got.Extensions) != string(e.Extensions) {
			return fmt.Errorf("entry %d is %+v, want %+v", i, got, e)
		}
	}
	return nil
}

// TestRaftLog applies random steps of raft to a log and to a model, and reopens the log
// now and then.
func TestRaftLog(t *testing.T) {
	testwait.Long(t)
	fileSystems(t, func(t *testing.T, fs vfs.FS, root string) {
		for _, policy := range []Policy{EverySecond, Always, Never} {
			seed := testwait.Seed(t)
			random, dir := rand.New(rand.NewPCG(seed, 0)), fs.PathJoin(root, policy.String())
			o := LogOptions{Policy: policy, syncEvery: 1e6}
			l, w := openLog(t, fs, dir, o), newRaftModel()
			for i := range uint64(500) {
				s := drawRaftStep(random, w, i)
				if err := s.perform(l.Raft()); err != nil {
					t.Fatalf("%v, seed %d, step %d: %v: %v", policy, seed, i, s, err)
				}
				s.apply(w)
				if random.IntN(20) == 0 {
					if err := checkClosed(l); err != nil {
						t.Fatalf("%v, seed %d, step %d: %v: check: %v", policy, seed, i, s, err)
					}
					l = openLog(t, fs, dir, o)
				}
				if random.IntN(5) > 0 {
					continue
				}
				got, err := readRaft(l.Raft())
				if err == nil {
					err = got.differs(w)
				}
				if err != nil {
					t.Fatalf("%v, seed %d, step %d: %v: %v", policy, seed, i, s, err)
				}
			}
			closeLog(t, l)
		}
	})
}

// checkClosed closes a log and checks it.
func checkClosed(l *Log) error {
	return errors.Join(l.Close(), checkedLog(l.fs, l.dir, anotherBoot))
}

// TestRaftLogRejects checks that incorrect use is rejected and leaves the log usable.
func TestRaftLogRejects(t *testing.T) {
	l := openLog(t, vfs.NewMem(), "/log", LogOptions{OnError: func(err error) { t.Errorf("broken by %v", err) }})
	r := l.Raft()
	at := func(indexes ...uint64) (entries []*raft.Log) {
		for _, i := range indexes {
			entries = append(entries, &raft.Log{Index: i, Term: 1})
		}
		return entries
	}
	large := at(14)
	large[0].Data, large[0].Extensions = make([]byte, maxEntryBytes), make([]byte, 1)
	for _, tt := range []struct {
		name string
		err  error
		ok   bool
	}{
		{"index 0", r.StoreLogs(at(0)), false},
		{"nothing", r.StoreLogs(nil), true},
		{"a gap within", r.StoreLogs(at(10, 12)), false},
		{"any first index", r.StoreLogs(at(10, 11, 12)), true},
		{"one", r.StoreLog(at(13)[0]), true},
		{"a gap", r.StoreLogs(at(15)), false},
		{"a repeated index", r.StoreLogs(at(13)), false},
		{"too large", r.StoreLogs(large), false},
		{"a deletion in the middle", r.DeleteRange(11, 12), false},
		{"a deletion before the first entry", r.DeleteRange(1, 9), true},
		{"a deletion after the last entry", r.DeleteRange(14, 99), true},
		{"an empty deletion", r.DeleteRange(12, 11), true},
	} {
		if (tt.err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, tt.err)
		}
	}
	want := newRaftModel()
	want.store(at(10, 11, 12, 13))
	got, err := readRaft(r)
	if err == nil {
		err = got.differs(want)
	}
	if err != nil || !r.IsMonotonic() {
		t.Errorf("after rejected calls: %v; monotonic: %t", err, r.IsMonotonic())
	}
	var first, second raft.Log
	if err := errors.Join(r.GetLog(10, &first), r.GetLog(10, &second)); err != nil {
		t.Error(err)
	}
	for i := range first.Data {
		first.Data[i]++
	}
	if err := r.GetLog(10, &first); err != nil || !reflect.DeepEqual(first, second) {
		t.Errorf("entry 10 is %+v, want %+v: %v", first, second, err)
	}
	closeLog(t, l)
	for _, err := range []error{r.StoreLogs(at(14)), r.DeleteRange(10, 10)} {
		if !errors.Is(err, errLogClosed) {
			t.Errorf("a closed log returns %v, want %v", err, errLogClosed)
		}
	}
}

// TestRaftLogDamage flips a byte in each entry in turn: GetLog must detect it.
func TestRaftLogDamage(t *testing.T) {
	mem := vfs.NewMem()
	l := openLog(t, mem, "/log", LogOptions{SegmentBytes: 64 << 10})
	for i := range uint64(5) {
		if err := l.Raft().StoreLog(&raft.Log{Index: i + 1, Term: 1,
			Data: []byte{0xd5, byte(i), 0xd5, byte(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	found := 0
	for name, b := range readDir(t, mem, "/log") {
		for at := range b {
			if at+4 > len(b) || b[at] != 0xd5 || b[at+2] != 0xd5 || b[at+1] != b[at+3] || b[at+1] > 4 {
				continue
			}
			file, err := mem.OpenReadWrite("/log/"+name, vfs.WriteCategoryUnspecified)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteAt([]byte{0xd4}, int64(at)); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			into := raft.Log{Index: 99}
			found++
			if err := l.Raft().GetLog(uint64(b[at+1])+1, &into); err == nil || errors.Is(err, raft.ErrLogNotFound) ||
				into.Index != 99 {
				t.Errorf("entry %d is damaged: got %+v, %v", b[at+1]+1, into, err)
			}
		}
	}
	if found != 5 {
		t.Errorf("%d entries were damaged, want 5", found)
	}
	closeLog(t, l)
}

// TestRaftLogConcurrent reads while entries are stored, replaced and compacted.
func TestRaftLogConcurrent(t *testing.T) {
	fileSystems(t, func(t *testing.T, fs vfs.FS, root string) {
		l := openLog(t, fs, fs.PathJoin(root, "log"), LogOptions{syncEvery: 1e6})
		r := l.Raft()
		stop := make(chan struct{})
		var all sync.WaitGroup
		beside := func(one func() error) {
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if err := one(); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		beside(func() error {
			first, _ := r.FirstIndex()
			last, _ := r.LastIndex()
			for i := first; i <= last; i++ {
				var e raft.Log
				err := r.GetLog(i, &e)
				if err != nil && !errors.Is(err, raft.ErrLogNotFound) {
					return err
				}
				if err == nil && (e.Index != i || string(e.Data) != string(payload(i+e.Term))) {
					return fmt.Errorf("entry %d is %+v", i, e)
				}
			}
			return nil
		})
		beside(l.Sync)
		beside(func() error { // as raft compacts
			first, _ := r.FirstIndex()
			last, _ := r.LastIndex()
			if last < first+40 {
				return nil
			}
			return r.DeleteRange(first, last-20)
		})
		next := uint64(1)
		for term := uint64(1); term < 150; term++ {
			if term%10 == 0 {
				next -= 3
				if err := r.DeleteRange(next, next+2); err != nil {
					t.Fatal(err)
				}
			}
			var entries []*raft.Log
			for range 1 + term%5 {
				entries = append(entries, &raft.Log{Index: next, Term: term, Data: payload(next + term)})
				next++
			}
			if err := r.StoreLogs(entries); err != nil {
				t.Fatal(err)
			}
		}
		close(stop)
		all.Wait()
		if last, err := r.LastIndex(); err != nil || last != next-1 {
			t.Errorf("the last entry is %d, %v; want %d", last, err, next-1)
		}
		closeLog(t, l)
	})
}

// TestRaftLogFaults fails each change of the file system in turn: the log must be broken,
// report the error and remain readable; no acknowledged entry is lost.
func TestRaftLogFaults(t *testing.T) {
	for at := 1; ; at++ {
		mem := vfs.NewCrashableMem()
		f := &failAt{at: at, err: syscall.ENOSPC}
		reported, seed := make(chan error, 1), uint64(at)
		l, err := OpenLog(errorfs.Wrap(mem, f), "/log",
			LogOptions{Policy: Always, SegmentBytes: minSegmentBytes, OnError: func(err error) { reported <- err }})
		if err != nil {
			continue
		}
		random, w := rand.New(rand.NewPCG(seed, 1)), newRaftModel()
		var s raftStep
		for i := uint64(0); i < 40 && err == nil; i++ {
			s = drawRaftStep(random, w, i)
			if err = s.perform(l.Raft()); err == nil {
				s.apply(w)
			}
		}
		what := fmt.Sprintf("seed %d, failure of change %d, %v of %s", seed, at, f.kind, f.path)
		if err != nil {
			if got := <-reported; !errors.Is(err, got) {
				t.Errorf("%s: %v fails with %v, but OnError received %v", what, s, err, got)
			}
			again, next := s.perform(l.Raft()), l.Raft().StoreLog(raftEntry(random, l.Last()+1, 99))
			if again != l.Err() || next != l.Err() {
				t.Errorf("%s: the log broke with %v and then returns %v and %v", what, l.Err(), again, next)
			}
			for i := w.first; i <= w.last; i++ { // entries being deleted may be gone
				var e raft.Log
				if err := l.Raft().GetLog(i, &e); err == nil && e.Term != w.entries[i].Term {
					t.Errorf("%s: entry %d has term %d, want %d", what, i, e.Term, w.entries[i].Term)
				}
			}
		}
		_ = l.Close()
		after := w.clone()
		s.apply(after)
		reopened, errOpen := OpenLog(mem.CrashClone(vfs.CrashCloneCfg{}), "/log", LogOptions{SegmentBytes: minSegmentBytes})
		if errOpen != nil {
			t.Fatalf("%s: %v", what, errOpen)
		}
		got, errRead := readRaft(reopened.Raft())
		if errRead != nil || got.differs(w) != nil && (err == nil || got.differs(after) != nil) {
			t.Errorf("%s: %v; %v", what, errRead, got.differs(w))
		}
		closeLog(t, reopened)
		if f.seen < at {
			if at < 100 {
				t.Errorf("only %d changes", at)
			}
			return
		}
	}
}
