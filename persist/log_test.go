package persist

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// openLog opens a log with small segments.
func openLog(t *testing.T, fs vfs.FS, dir string, o LogOptions) *Log {
	t.Helper()
	if o.SegmentBytes == 0 {
		o.SegmentBytes = minSegmentBytes
	}
	l, err := OpenLog(fs, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustAppend(t *testing.T, l *Log, data []byte) {
	t.Helper()
	want := l.Last() + 1
	if got, err := l.Append(data); err != nil || got != want {
		t.Fatalf("append: got index %d, %v; want %d", got, err, want)
	}
}

func closeLog(t *testing.T, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// payload returns the data of entry index: 0 to 700 bytes that depend on the index.
func payload(index uint64) []byte {
	b := fmt.Appendf(nil, "%d ", index)
	for i := uint64(0); i < index*index%700; i++ {
		b = append(b, byte(i*index))
	}
	return b
}

// checkEntries reads the whole log and compares it with payload.
func checkEntries(t *testing.T, l *Log, first, last uint64) {
	t.Helper()
	if l.First() != first || l.Last() != last {
		t.Errorf("the log has %d to %d, want %d to %d", l.First(), l.Last(), first, last)
	}
	next := l.First()
	err := l.Read(next, func(index uint64, data []byte) error {
		if index != next || !reflect.DeepEqual(data, payload(index)) {
			return fmt.Errorf("entry %d: got %q as %d, want %q", next, data, index, payload(next))
		}
		next++
		return nil
	})
	if err != nil || next != l.Last()+1 {
		t.Errorf("read %d to %d of %d: %v", l.First(), next-1, l.Last(), err)
	}
}

// fileSystems runs a test on memory and on disk. root is an empty directory.
func fileSystems(t *testing.T, test func(t *testing.T, fs vfs.FS, root string)) {
	t.Run("fs=mem", func(t *testing.T) { test(t, vfs.NewCrashableMem(), "/") })
	t.Run("fs=disk", func(t *testing.T) { test(t, vfs.Default, t.TempDir()) })
}

func TestLogRoundTrip(t *testing.T) {
	fileSystems(t, func(t *testing.T, fs vfs.FS, root string) {
		for _, policy := range []Policy{EverySecond, Always, Never} {
			dir := fs.PathJoin(root, policy.String())
			o := LogOptions{Policy: policy, First: 7}
			l := openLog(t, fs, dir, o)
			checkEntries(t, l, 7, 6)
			next := uint64(7)
			for range 20 {
				for range 11 {
					mustAppend(t, l, payload(next))
					next++
				}
				checkEntries(t, l, 7, next-1)
				closeLog(t, l)
				o.First = 99 // ignored: the log exists
				l = openLog(t, fs, dir, o)
				checkEntries(t, l, 7, next-1)
				if l.Synced() != next-1 {
					t.Errorf("synced to %d after opening, want %d", l.Synced(), next-1)
				}
			}
			closeLog(t, l)
		}
	})
}

func TestLogReadFrom(t *testing.T) {
	l := openLog(t, vfs.NewMem(), "/log", LogOptions{First: 10})
	defer closeLog(t, l)
	for i := uint64(10); i < 60; i++ {
		mustAppend(t, l, payload(i))
	}
	stop := errors.New("stop")
	for from := uint64(9); from < 62; from++ {
		next := from
		err := l.Read(from, func(index uint64, data []byte) error {
			if index != next || !reflect.DeepEqual(data, payload(index)) {
				t.Errorf("from %d: got %d, want %d", from, index, next)
			}
			if next++; index == 58 {
				return stop
			}
			return nil
		})
		switch {
		case from < 10 || from > 60:
			if err == nil {
				t.Errorf("from %d: no error, want one", from)
			}
		case from < 59 && !errors.Is(err, stop):
			t.Errorf("from %d: %v, want the error of yield", from, err)
		case from >= 59 && (err != nil || next != 60):
			t.Errorf("from %d: read to %d, %v; want 59", from, next-1, err)
		}
	}
}

func TestLogSynced(t *testing.T) {
	for _, tt := range []struct {
		policy Policy
		want   uint64 // Synced after an Append
	}{{Always, 1}, {EverySecond, 0}, {Never, 0}} {
		l := openLog(t, vfs.NewMem(), "/log", LogOptions{Policy: tt.policy, syncEvery: 1 << 40})
		mustAppend(t, l, nil)
		if l.Synced() != tt.want {
			t.Errorf("%v: synced to %d after the first Append, want %d", tt.policy, l.Synced(), tt.want)
		}
		if err := l.Sync(); err != nil || l.Synced() != 1 {
			t.Errorf("%v: synced to %d after Sync, %v; want 1", tt.policy, l.Synced(), err)
		}
		closeLog(t, l)
	}
}

func TestLogSyncsInBackground(t *testing.T) {
	l := openLog(t, vfs.NewMem(), "/log", LogOptions{syncEvery: 1})
	mustAppend(t, l, nil)
	eventually(t, "it is synced", func() bool { return l.Synced() >= 1 })
	closeLog(t, l)
}

// TestLogDeletesOrphans leaves a segment that META does not name, as after a crash.
func TestLogDeletesOrphans(t *testing.T) {
	made := madeLog(t, Always, 40, 0)
	orphan := "00000000000000000001-0000000000000099.wal"
	made[orphan] = make([]byte, 10_000)
	fs := made.write(t)
	l := openLog(t, fs, "/log", LogOptions{})
	checkEntries(t, l, 1, 40)
	closeLog(t, l)
	bytes := int64(0)
	for name, b := range readDir(t, fs, "/log") {
		if name == orphan {
			t.Errorf("%s is still there", name)
		}
		if name != metaName {
			bytes += int64(len(b))
		}
	}
	if l.Bytes() != bytes {
		t.Errorf("Bytes is %d, the files have %d", l.Bytes(), bytes)
	}
}

// TestLogConcurrent uses a log from many goroutines.
func TestLogConcurrent(t *testing.T) {
	fileSystems(t, func(t *testing.T, fs vfs.FS, root string) {
		l := openLog(t, fs, fs.PathJoin(root, "log"), LogOptions{syncEvery: 1e6})
		var all sync.WaitGroup
		stop := make(chan struct{})
		for _, one := range []func() error{
			func() error { return l.Sync() },
			func() error { _ = l.Busy(); _ = l.Bytes(); return l.Err() },
			func() error {
				next := l.First()
				err := l.Read(next, func(index uint64, data []byte) error {
					if index != next || !reflect.DeepEqual(data, payload(index)) {
						return fmt.Errorf("entry %d is %q, want %d to be %q", index, data, next, payload(next))
					}
					next++
					return nil
				})
				if err == nil && l.Last() >= l.First()+100 { // dropped entries must not be read
					err = l.DropBefore(l.Last() - 50)
				}
				return err
			},
		} {
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						if err := one(); err != nil {
							t.Error(err)
							return
						}
					}
				}
			})
		}
		for l.Last() < 500 {
			mustAppend(t, l, payload(l.Last()+1))
		}
		close(stop)
		all.Wait()
		checkEntries(t, l, l.First(), 500)
		closeLog(t, l)
	})
}

// TestLogClosedDuringAppend closes logs during Appends, mostly while a segment is replaced:
// both calls must return.
func TestLogClosedDuringAppend(t *testing.T) {
	for range 200 {
		l := openLog(t, vfs.NewMem(), "/log", LogOptions{Policy: Never})
		began, ended := make(chan struct{}), make(chan error)
		go func() {
			var err error
			for err == nil {
				if _, err = l.Append(make([]byte, minSegmentBytes)); err == nil && l.Last() == 3 {
					close(began)
				}
			}
			ended <- err
		}()
		<-began
		closeLog(t, l)
		if err := <-ended; !errors.Is(err, errLogClosed) {
			t.Errorf("Append ends with %v, want %v", err, errLogClosed)
		}
	}
}

// TestAppendAllocates checks that Append allocates no more than raft-wal: 5 allocations,
// and 7 with the race detector.
func TestAppendAllocates(t *testing.T) {
	l := openLog(t, vfs.NewMem(), "/log", LogOptions{SegmentBytes: maxSegmentBytes})
	data := make([]byte, 3<<10)
	if n := testing.AllocsPerRun(100, func() { mustAppend(t, l, data) }); n > 8 {
		t.Errorf("%v allocations an Append, want at most 8", n)
	}
	closeLog(t, l)
}

func TestLogClosed(t *testing.T) {
	called := false
	l := openLog(t, vfs.NewMem(), "/log", LogOptions{OnError: func(error) { called = true }})
	mustAppend(t, l, nil)
	closeLog(t, l)
	closeLog(t, l)
	for _, err := range []error{l.Err(), l.Sync(), l.DropBefore(2), second(l.Append(nil))} {
		if !errors.Is(err, errLogClosed) {
			t.Errorf("a closed log returns %v, want %v", err, errLogClosed)
		}
	}
	if called {
		t.Error("OnError was called")
	}
}

func second[T any](_ T, err error) error { return err }

func TestLogOptions(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    LogOptions
		ok   bool
	}{
		{"the smallest segment", LogOptions{SegmentBytes: 4 << 10}, true},
		{"less", LogOptions{SegmentBytes: 4<<10 - 1}, false},
		{"the largest segment", LogOptions{SegmentBytes: 1 << 30}, true},
		{"more", LogOptions{SegmentBytes: 1<<30 + 1}, false},
		{"no policy", LogOptions{Policy: Never + 1}, false},
	} {
		l, err := OpenLog(vfs.NewMem(), "/log", tt.o)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err == nil {
			closeLog(t, l)
		}
	}
}

func TestParsePolicy(t *testing.T) {
	for _, p := range []Policy{EverySecond, Always, Never} {
		var got Policy
		if err := got.UnmarshalText([]byte(p.String())); got != p || err != nil {
			t.Errorf("UnmarshalText(%q) = %v, %v", p, err, got)
		}
	}
	if err := new(Policy).UnmarshalText([]byte("Always")); err == nil {
		t.Error("UnmarshalText(Always): no error, want one")
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, policy := range []Policy{Never, EverySecond, Always} {
		for _, size := range []int{100, 3 << 10} {
			b.Run(fmt.Sprintf("policy=%v/bytes=%d", policy, size), func(b *testing.B) {
				l, err := OpenLog(vfs.Default, b.TempDir(), LogOptions{Policy: policy})
				if err != nil {
					b.Fatal(err)
				}
				data := make([]byte, size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := l.Append(data); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{30, 100, 3 << 10} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			l, err := OpenLog(vfs.Default, b.TempDir(), LogOptions{Policy: Never})
			if err != nil {
				b.Fatal(err)
			}
			for range (32 << 20) / size {
				if _, err := l.Append(make([]byte, size)); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(l.Bytes())
			b.ReportAllocs()
			for b.Loop() {
				if err := l.Read(1, func(uint64, []byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
