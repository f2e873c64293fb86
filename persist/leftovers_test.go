package persist

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"limitsrv/engine"
)

// incomplete matches the paths of files that are not complete.
var incomplete = regexp.MustCompile(`\.tmp(/|$)|/staging/|META\.new$`)

// allBelow returns the paths of all files below a directory.
func allBelow(t *testing.T, fsys vfs.FS, dir string) (all []string) {
	t.Helper()
	names, err := fsys.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := fsys.PathJoin(dir, name)
		info, err := fsys.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, path); info.IsDir() {
			all = append(all, allBelow(t, fsys, path)...)
		}
	}
	return all
}

func checkComplete(t *testing.T, fsys vfs.FS, dir, after string) {
	t.Helper()
	for _, path := range allBelow(t, fsys, dir) {
		if incomplete.MatchString(path) {
			t.Errorf("after %s there is %s", after, path)
		}
	}
}

// A full disk at any write of a snapshot, a backup, a sealed file, META or a new segment
// leaves nothing incomplete.
func TestFullDiskLeavesNothing(t *testing.T) {
	origin := Origin{ID: "x"}
	for _, part := range []struct {
		name string
		do   func(fsys vfs.FS) error
	}{
		{"a snapshot", func(fsys vfs.FS) error {
			s, err := OpenSnapshots(fsys, "/data/snapshots", SnapshotOptions{})
			if err != nil {
				return err
			}
			defer s.Close()
			_, err = s.Write(context.Background(), newState(1, 300, 0).source(), Meta{LogDir: logName(1)}, nil)
			return err
		}},
		{"a backup", func(fsys vfs.FS) error {
			return WriteBackup(context.Background(), fsys, "/data/backups/b", "/data/backups/b.tmp",
				newState(1, 300, 0).source(), Seed{}, origin, 0)
		}},
		{"a sealed file", func(fsys vfs.FS) error { return writeMark(fsys, "/data", origin) }},
		{"a log", func(fsys vfs.FS) error {
			l, err := OpenLog(fsys, "/data/log-000001", LogOptions{SegmentBytes: minSegmentBytes})
			if err != nil {
				return err
			}
			defer l.Close()
			for range 20 { // several segments
				if _, err := l.Append(make([]byte, 1000)); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		for at := 0; ; at++ {
			mem := vfs.NewMem()
			if err := MakeDir(mem, "/data/backups"); err != nil {
				t.Fatal(err)
			}
			full := &fullFrom{at: at}
			if err := part.do(errorfs.Wrap(mem, full)); err == nil && full.writes <= at {
				if at < 2 {
					t.Errorf("%s: only %d writes", part.name, at)
				}
				break
			}
			checkComplete(t, mem, "/data", fmt.Sprintf("%s with a disk that is full at write %d", part.name, at))
			checkSegments(t, mem, part.name, at)
		}
	}
}

// checkSegments checks that a log that failed has no segment that META does not name.
func checkSegments(t *testing.T, fsys vfs.FS, part string, at int) {
	t.Helper()
	const dir = "/data/log-000001"
	named := 0
	if state, err := readMeta(fsys, dir); err == nil {
		named = len(state.Segments)
	}
	there := 0
	names, _ := fsys.List(dir)
	for _, name := range names {
		if strings.HasSuffix(name, segmentSuffix) {
			there++
		}
	}
	if there > named+1 { // a segment is complete, and META could not be written
		t.Errorf("%s with a disk that is full at write %d: %d segments, and META names %d", part, at, there, named)
	}
}

// A record that can't be written takes its rows with it.
func TestUnrecordedRowsAreRemoved(t *testing.T) {
	tables := 0
	for at := 0; ; at++ {
		mem, full := vfs.NewMem(), &fullFrom{at: at, once: true}
		s, err := OpenSnapshots(mem, "/s", SnapshotOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.fs = errorfs.Wrap(mem, full)
		_, err = s.Write(context.Background(), newState(1, 300, 0).source(), Meta{LogDir: logName(1)}, nil)
		for _, path := range allBelow(t, mem, "/s") {
			if !strings.HasSuffix(path, ".sst") {
				continue
			}
			if tables++; err != nil && full.record {
				t.Errorf("the disk was full at write %d, of the record: there is %s", at, path)
			}
		}
		s.Close()
		if full.writes <= at {
			break
		}
	}
	if tables == 0 {
		t.Error("no snapshot has tables")
	}
}

// fullFrom is a disk that is full from a write on, or at it once.
type fullFrom struct {
	writes, at int
	once       bool
	record     bool // the write was of a record
}

func (f *fullFrom) String() string { return "full" }

func (f *fullFrom) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpRemove, errorfs.OpRemoveAll, errorfs.OpFileClose, errorfs.OpLock:
		return nil
	}
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	f.writes++
	if f.writes == f.at+1 || f.writes > f.at && !f.once {
		f.record = strings.HasSuffix(op.Path, suffixTemporary)
		return syscall.ENOSPC
	}
	return nil
}

// A start removes the incomplete files of a killed process before it writes, and keeps all other files.
func TestStartRemovesLeftovers(t *testing.T) {
	disk := vfs.NewMem()
	o := Options{Dir: "/data", FS: disk, Policy: Always, Clock: newTestClock(), Engine: engine.Options{}}
	start := func() *Store {
		s, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Recover(context.Background()); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if err := start().Close(context.Background(), SaveNever); err != nil {
		t.Fatal(err)
	}
	left := []string{"/data/BOOT.tmp", "/data/STOPPED.tmp", "/data/backups/b.tmp/IDENTITY",
		"/data/snapshots/staging/0001.sst",
		"/data/snapshots/00000001.tmp", "/data/log-000001/META.new",
		"/data/log-000001/00000000000000000009-0000000000000077.wal"}
	for _, name := range left {
		if err := MakeDir(disk, disk.PathDir(name)); err != nil {
			t.Fatal(err)
		}
		if err := WriteSynced(disk, name, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	s := start()
	for _, name := range left {
		if _, err := disk.Stat(name); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	if err := s.Close(context.Background(), SaveNever); err != nil {
		t.Error(err)
	}
}

// smallDisk has so many free bytes.
type smallDisk struct {
	vfs.FS
	free uint64
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free}, nil
}

// A snapshot that would leave too little room is not begun, and the older snapshot stays.
func TestSnapshotsKeepRoom(t *testing.T) {
	disk := &smallDisk{vfs.NewMem(), 1 << 40}
	s, err := OpenSnapshots(disk, "/s", SnapshotOptions{Reserve: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	write := func(keys int) error {
		_, err := s.Write(context.Background(), newState(1, keys, 0).source(), Meta{LogDir: logName(1)}, nil)
		return err
	}
	if err := write(1000); err != nil {
		t.Fatal(err)
	}
	size, err := s.DiskBytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		free uint64
		keys int
		full bool
	}{
		{"room for it", 1<<20 + 3*uint64(size), 1000, false},
		{"room for the reserve only", 1<<20 + uint64(size)/2, 1000, true},
		{"less than the reserve", 1 << 10, 1000, true},
		{"ten times the keys", 1<<20 + 3*uint64(size), 10_000, true},
	} {
		disk.free = tt.free
		if err := write(tt.keys); IsFull(err) != tt.full || !tt.full && err != nil {
			t.Errorf("%s: %v, want no room: %v", tt.name, err, tt.full)
		}
		if info, ok, err := s.Latest(); !ok || err != nil || info.Keys != 1000 {
			t.Errorf("%s: the newest snapshot has %d keys, %v, %v", tt.name, info.Keys, ok, err)
		}
		checkComplete(t, disk, "/s", tt.name)
	}
}

// A segment is smaller if the disk has too little room, and Short reports it.
func TestSegmentOnNearlyFullDisk(t *testing.T) {
	const most = 1 << 20 // bytes that can be reserved
	room := errorfs.InjectorFunc(func(op errorfs.Op) error { return nil })
	mem := &reserving{FS: errorfs.Wrap(vfs.NewMem(), room), most: most}
	for _, tt := range []struct {
		segment int64
		short   bool
	}{{most, false}, {4 * most, true}} {
		dir := fmt.Sprint("/log", tt.segment)
		l, err := OpenLog(mem, dir, LogOptions{SegmentBytes: tt.segment})
		if err != nil {
			t.Fatal(err)
		}
		if l.Short() != tt.short {
			t.Errorf("a segment of %d bytes is short: %v", tt.segment, l.Short())
		}
		if _, err := l.Append([]byte("x")); err != nil {
			t.Error(err)
		}
		l.Close()
	}
	mem.most = leastReserved / 2
	if _, err := OpenLog(mem, "/none", LogOptions{SegmentBytes: most}); !IsFull(err) {
		t.Errorf("a disk without room: %v", err)
	}
	if names := allBelow(t, mem, "/none"); len(names) > 0 {
		t.Errorf("a disk without room has %v", names)
	}
}

// reserving is a disk with so many bytes for files to reserve.
type reserving struct {
	vfs.FS
	most int64
}

func (r *reserving) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := r.FS.OpenReadWrite(name, c, o...)
	return reservingFile{f, r}, err
}

type reservingFile struct {
	vfs.File
	on *reserving
}

func (f reservingFile) Preallocate(_, size int64) error {
	if size > f.on.most {
		return syscall.ENOSPC
	}
	return nil
}

// The pause doubles up to 32 times the first, and begins anew after a success.
func TestRetry(t *testing.T) {
	r := Retry{Every: 1}
	var got []string
	for i := range 9 {
		if i == 8 {
			r.Reset()
		}
		got = append(got, fmt.Sprint(int64(r.Pause())))
	}
	if want := "1 2 4 8 16 32 32 32 1"; strings.Join(got, " ") != want {
		t.Errorf("pauses %v, want %s", got, want)
	}
}
