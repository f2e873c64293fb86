package persist

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/internal/testing/testwait"
)

// diskWith returns a disk after writing snapshots of some states, each replacing the
// previous snapshot, and a power failure right after the last.
func diskWith(t *testing.T, dir string, states ...*fakeState) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	s := openTest(t, disk, dir)
	for i, state := range states {
		mustWrite(t, s, state, uint64(i))
	}
	return disk.CrashClone(vfs.CrashCloneCfg{})
}

// afterCrash finds the state with a complete snapshot on the disk, and checks that the disk
// can be used from then on. The index of a state is the log index of its snapshot; nil
// means no snapshot.
func afterCrash(disk vfs.FS, states ...*fakeState) (which int, err error) {
	s, err := OpenSnapshots(disk, "/snapshots", SnapshotOptions{})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	all, err := s.All()
	if err != nil {
		return 0, err
	}
	for _, info := range all[min(1, len(all)):] { // holds reads the first
		if err := s.Load(context.Background(), info, blockCheck(anyBlock), 1, nil); err != nil {
			return 0, fmt.Errorf("%d of %d snapshots: %w", info.Generation, len(all), err)
		}
	}
	which = -1
	for i, state := range states {
		if state == nil && len(all) == 0 || state != nil && holds(s, state, uint64(i)) == nil {
			which = i
		}
	}
	if which < 0 {
		return 0, fmt.Errorf("%d snapshots, none of an expected state", len(all))
	}
	next := afterCrashState()
	if _, err := s.Write(context.Background(), next.source(), metaOf(99), nil); err != nil {
		return 0, fmt.Errorf("the next Write: %w", err)
	}
	if err := holds(s, next, 99); err != nil {
		return 0, fmt.Errorf("the next Write: %w", err)
	}
	if all, err := s.All(); len(all) != 1 || err != nil {
		return 0, fmt.Errorf("after the next Write there are %d snapshots, %w", len(all), err)
	}
	if names, err := disk.List("/snapshots"); len(names) != 4 || err != nil {
		return 0, fmt.Errorf("after the next Write there are files %q, %w", names, err)
	}
	size, err := s.DiskBytes()
	if err == nil && size > next.bytes()+12000 {
		err = fmt.Errorf("after the next Write of %d bytes %d are in use", next.bytes(), size)
	}
	return which, err
}

// Fails the power at each change of the disk during a Write.
func TestSnapshotsCrash(t *testing.T) {
	testwait.Long(t)
	t.Parallel()
	a, b, c := newState(1, 600, 1), newState(2, 700, 1), newState(3, 800, 1)
	seed := testwait.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, tt := range []struct {
		name   string
		before []*fakeState
		may    []*fakeState
		want   []bool // expected to be left by some crash
	}{
		{"the first", nil, []*fakeState{nil, b}, []bool{true, true}},
		{"the second", []*fakeState{a}, []*fakeState{a, b}, []bool{true, true}},
		{"the third", []*fakeState{c, a}, []*fakeState{nil, a, b}, []bool{false, true, true}},
	} {
		base := diskWith(t, "/snapshots", tt.before...)
		seen := make([]bool, len(tt.may))
		crashes := 0
		for done := false; !done; crashes++ {
			for _, percent := range []int{crashes % 2 * 100, 1 + random.IntN(99)} {
				crash := &crashFS{FS: base.CrashClone(vfs.CrashCloneCfg{}), left: crashes, percent: percent, random: random}
				err := writeTo(crash, b, uint64(len(tt.may)-1))
				if crash.after == nil {
					if err != nil {
						t.Fatal(err)
					}
					done = true
					continue
				}
				which, err := afterCrash(crash.after, tt.may...)
				if err != nil {
					t.Fatalf("seed %d, %s, crash at %d, %d %% unsynced: %v", seed, tt.name, crashes, percent, err)
				}
				seen[which] = true
			}
		}
		for i, want := range tt.want {
			if seen[i] != want {
				t.Errorf("seed %d, %s: snapshot %d seen: %v, want %v", seed, tt.name, i, seen[i], want)
			}
		}
		t.Logf("%s: %d crashes", tt.name, crashes)
	}
}

// afterCrashState is the state written by afterCrash.
func afterCrashState() *fakeState { return newState(99, 600, 1) }

func writeTo(fsys vfs.FS, state *fakeState, index uint64) error {
	s, err := OpenSnapshots(fsys, "/snapshots", SnapshotOptions{})
	if err != nil {
		return err
	}
	_, err = s.Write(context.Background(), state.source(), metaOf(index), nil)
	return errors.Join(err, s.Close())
}

// A snapshot returned by Write is on disk.
func TestSnapshotsDurable(t *testing.T) {
	a, b := newState(1, 600, 1), newState(2, 700, 1)
	which, err := afterCrash(diskWith(t, "/snapshots", a, b), a, b)
	if which != 1 || err != nil {
		t.Errorf("after a crash: %d, %v", which, err)
	}
}
