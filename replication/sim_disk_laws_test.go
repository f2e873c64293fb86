package replication

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
	"limitsrv/replication/storage"
)

// write appends to a file of a disk.
func (d *simDisk) write(name, text string, sync bool) error {
	f, err := d.FS.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err = f.WriteAt([]byte(text), info.Size()); err == nil && sync {
		err = errors.Join(f.Sync(), d.syncRoot())
	}
	return err
}

// raft returns the stores of a directory.
func (d *simDisk) raft() simStores {
	d.open("/raft")
	return d.stores["/raft"]
}

func (d *simDisk) syncRoot() error {
	root, err := d.FS.OpenDir("/")
	if err != nil {
		return err
	}
	return errors.Join(root.Sync(), root.Close())
}

func (d *simDisk) text(t *testing.T, name string) string {
	t.Helper()
	f, err := d.FS.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// saveSnapshot writes a snapshot of an index, complete or not.
func (d *simDisk) saveSnapshot(index uint64, whole bool) error {
	sink, err := d.raft().snapshots.Create(1, index, 1, raft.Configuration{}, 1, nil)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintf(sink, "state at %d", index); err == nil && whole {
		err = sink.Close()
	}
	return err
}

func (d *simDisk) snapshotIndexes(t *testing.T) (indexes []uint64) {
	t.Helper()
	metas, err := d.raft().snapshots.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, meta := range metas {
		_, data, err := d.raft().snapshots.Open(meta.ID)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(data)
		if want := fmt.Sprintf("state at %d", meta.Index); string(text) != want || meta.Size != int64(len(want)) {
			t.Errorf("the snapshot at %d is %q of %d bytes", meta.Index, text, meta.Size)
		}
		indexes = append(indexes, meta.Index)
	}
	return indexes
}

func TestSimDiskCrash(t *testing.T) {
	for _, tt := range []struct {
		percent int
		want    string
	}{{0, "synced"}, {100, "synced, unsynced"}} {
		d := newSimDisk()
		for _, err := range []error{
			d.write("/f", "synced", true), d.write("/f", ", unsynced", false),
			d.raft().stable.Set([]byte("k"), []byte("v")), d.raft().stable.SetUint64([]byte("n"), 1<<63),
			d.saveSnapshot(5, true), d.saveSnapshot(9, true), d.saveSnapshot(7, true), d.saveSnapshot(11, false),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		after := d.crashed(tt.percent, rand.New(rand.NewPCG(1, 1)))
		if same := after.Boot() == d.Boot(); same != (tt.percent == 100) {
			t.Errorf("with %d%% the machine was booted: %v", tt.percent, !same)
		}
		d.write("/f", ", after the crash", true)
		d.raft().stable.Set([]byte("k"), []byte("after the crash"))
		d.saveSnapshot(13, true)
		if got := after.text(t, "/f"); got != tt.want {
			t.Errorf("with %d%% the file is %q, want %q", tt.percent, got, tt.want)
		}
		value, err := after.raft().stable.Get([]byte("k"))
		number, err2 := after.raft().stable.GetUint64([]byte("n"))
		if string(value) != "v" || number != 1<<63 || err != nil || err2 != nil {
			t.Errorf("the stable store has %q, %v, and %d, %v", value, err, number, err2)
		}
		if _, err := after.raft().stable.Get([]byte("missing")); err == nil || err.Error() != "not found" {
			t.Errorf("the error for a missing key is %v", err)
		}
		if got := fmt.Sprint(after.snapshotIndexes(t)); got != "[9 7]" {
			t.Errorf("there are snapshots at %v, want [9 7]", got)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestSimDiskFaults(t *testing.T) {
	d := newSimDisk()
	if err := d.write("/f", "first", true); err != nil {
		t.Fatal(err)
	}
	stores := d.raft()
	d.Fault.FailWrites(1, syscall.ENOSPC)
	if err := stores.stable.Set([]byte("k"), nil); err != nil {
		t.Errorf("the write before the failure: %v", err)
	}
	for what, err := range map[string]error{
		"a file":       d.write("/f", "second", true),
		"the stable":   stores.stable.Set([]byte("k"), nil),
		"a number":     stores.stable.SetUint64([]byte("k"), 1),
		"the snapshot": second(stores.snapshots.Create(1, 1, 1, raft.Configuration{}, 1, nil)),
	} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a write of %s: %v, want %v", what, err, syscall.ENOSPC)
		}
	}
	if d.Fault.Failed() != 4 {
		t.Errorf("%d writes failed, want 4", d.Fault.Failed())
	}
	if got := d.text(t, "/f"); got != "first" {
		t.Errorf("the file is %q", got)
	}
	d.Fault.FailWrites(0, nil)
	if err := d.write("/f", "second", true); err != nil {
		t.Errorf("a write after the failure: %v", err)
	}
}

func TestSimDiskHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSimDisk()
		stores := d.raft()
		d.Fault.SetHang(true)
		var done atomic.Int32
		for _, access := range []func(){
			func() { d.write("/f", "text", true) },
			func() { stores.stable.Set([]byte("k"), nil) },
			func() { stores.stable.Get([]byte("k")) },
			func() { stores.snapshots.Create(1, 1, 1, raft.Configuration{}, 1, nil) },
			func() { stores.snapshots.List() },
		} {
			go func() {
				access()
				done.Add(1)
			}()
		}
		time.Sleep(time.Hour)
		if done.Load() != 0 {
			t.Errorf("%d accesses to a disk that hangs came back", done.Load())
		}
		d.Fault.SetHang(false)
		synctest.Wait()
		if done.Load() != 5 {
			t.Errorf("%d accesses came back after the hang, want 5", done.Load())
		}
	})
}

// While a disk hangs, time passes for a node that changes its membership, starts raft and stops.
func TestSimDiskHangsWhileMemberChanges(t *testing.T) {
	simCase(t, func(t *testing.T, c *simCluster) {
		c.withFollower(func(n *simNode) {
			c.hangDisk(n)
			p := n.running()
			for level := range 2 {
				c.wait.Go(func() { p.node.setMember(func(m *storage.Membership) { m.Level += level }) })
			}
			for range 2 {
				c.wait.Go(func() { p.node.restartRaft("a test") })
			}
			time.Sleep(time.Second)
			p.crash(100)
		})
		c.converge("a disk that hangs")
	})
}

func TestSimClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := simtest.NewClock(-time.Hour)
		for _, tt := range []struct {
			name string
			do   func()
			want time.Duration
		}{
			{"an hour behind", func() {}, -time.Hour},
			{"goes as fast as time", func() { time.Sleep(time.Hour) }, -time.Hour},
			{"jumps", func() { c.Set(time.Minute, 1.1) }, time.Minute},
			{"drifts", func() { time.Sleep(10 * time.Hour) }, time.Minute + time.Hour},
			{"is put right", func() { c.Set(0, 1) }, 0},
		} {
			tt.do()
			if got := c.Off(); (got - tt.want).Abs() > time.Millisecond {
				t.Errorf("the clock %s: is off by %v, want %v", tt.name, got, tt.want)
			}
		}
		if got := c.Wall(); got != engine.Instant(time.Now().UnixNano()) {
			t.Errorf("the clock shows %d", got)
		}
	})
}
