package persist

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"limitsrv/internal/testing/testwait"
)

var damages = flag.Int("damages", 5, "how many times each file is damaged in each way")

// Damages of a file.
var waysOfDamage = []struct {
	name string
	do   func(random *rand.Rand, data []byte) []byte
}{
	{"a bit flips", func(random *rand.Rand, data []byte) []byte {
		data[random.IntN(len(data))] ^= 1 << random.IntN(8)
		return data
	}},
	{"it is truncated", func(random *rand.Rand, data []byte) []byte {
		return data[:random.IntN(len(data))]
	}},
	{"some bytes are changed", func(random *rand.Rand, data []byte) []byte {
		at := random.IntN(len(data))
		for i := at; i < min(len(data), at+1+random.IntN(64)); i++ {
			data[i] = byte(random.Uint32())
		}
		return data
	}},
	{"it ends in zeroes", func(random *rand.Rand, data []byte) []byte {
		clear(data[random.IntN(len(data)):])
		return data
	}},
	{"bytes are appended", func(random *rand.Rand, data []byte) []byte {
		return append(data, data[random.IntN(len(data)):]...)
	}},
}

// Operations that change a disk.
var changeOps = append([]errorfs.OpKind{
	errorfs.OpReuseForWrite, errorfs.OpRemove, errorfs.OpRemoveAll, errorfs.OpFileWriteAt,
}, roomOps...)

// filesOf returns the names of all files below a directory that are not empty.
func filesOf(t *testing.T, fsys vfs.FS, dir string) (files []string) {
	t.Helper()
	names, err := fsys.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, name := range names {
		name = fsys.PathJoin(dir, name)
		stat, err := fsys.Stat(name)
		switch {
		case err != nil:
			t.Fatal(err)
		case stat.IsDir():
			files = append(files, filesOf(t, fsys, name)...)
		case stat.Size() > 0:
			files = append(files, name)
		}
	}
	return files
}

// After any damage a Load is correct or an error, no data is lost silently, and the next
// Write is correct or an error.
func TestSnapshotsDamage(t *testing.T) {
	testwait.Long(t)
	t.Parallel()
	a := newState(1, 600, 2)
	base := diskWith(t, "/snapshots", newState(5, 500, 1), a)
	seed := testwait.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	var variants, right, rewritten int
	for _, name := range filesOf(t, base, "/snapshots") {
		whole, err := readSmall(base, name, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		for _, way := range waysOfDamage {
			for range *damages {
				data := way.do(random, bytes.Clone(whole))
				disk := base.CrashClone(vfs.CrashCloneCfg{})
				put(t, disk, name, data)
				isRight, err := loadDamaged(disk, a, name)
				if err != nil {
					t.Fatalf("seed %d: %s: %s: %v", seed, name, way.name, err)
				}
				variants++
				if isRight {
					right++
				}
				b := newState(2, 700, 1)
				if variants%3 != 0 || writeTo(disk, b, 1) != nil {
					continue
				}
				rewritten++
				if _, err := afterCrash(disk, nil, b); err != nil {
					t.Fatalf("seed %d: %s: %s: after a Write: %v", seed, name, way.name, err)
				}
			}
		}
	}
	t.Logf("of %d variants %d were read, and %d allowed another snapshot", variants, right, rewritten)
}

// loadDamaged loads the snapshot of a state from a disk with one damaged file. It returns
// an error for behaviour that is not allowed.
func loadDamaged(disk *vfs.MemFS, a *fakeState, name string) (right bool, err error) {
	s, err := OpenSnapshots(disk, "/snapshots", SnapshotOptions{})
	if err != nil {
		return false, err
	}
	defer s.Close()
	changes := &fault{err: errors.New("a change"), only: changeOps}
	s.fs = errorfs.Wrap(disk, changes)
	info, ok, err := s.Latest()
	if err == nil && !ok {
		return false, errors.New("the snapshot is missing")
	}
	sink := &fakeSink{}
	if err == nil {
		err = s.Load(context.Background(), info, sink, 2, nil)
	}
	good, bad := CheckSnapshots(context.Background(), s.fs, "/snapshots", SnapshotOptions{}, 1, anyBlock)
	var corrupt *CorruptError
	switch {
	case changes.struck():
		return false, errors.New("reading changes files")
	case err == nil && (!sink.equals(a.loaded()) || info.Meta != metaOf(1)):
		return false, errors.New("another state was read")
	case (err == nil) != (bad == nil), len(good) > 1, len(good) == 1 != (bad == nil):
		return false, fmt.Errorf("Load() = %v, but CheckSnapshots() = %d snapshots, %v", err, len(good), bad)
	case err != nil && !errors.As(err, &corrupt):
		return false, fmt.Errorf("Load() = %w, which is not a CorruptError", err)
	case err != nil && strings.HasSuffix(name, ".sst") && !strings.Contains(err.Error(), name):
		return false, fmt.Errorf("Load() = %w, which does not name the file", err)
	}
	return err == nil, nil
}
