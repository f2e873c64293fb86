package replication

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
	"limitsrv/persist"
	"limitsrv/replication/link"
)

// A boundedDisk is the system's file system, that may be full, or say that it has so many
// bytes free. The votes and the snapshots of a node are on the system's.
type boundedDisk struct {
	vfs.FS
	full atomic.Bool
	free atomic.Int64
}

func newBoundedDisk() *boundedDisk {
	d := &boundedDisk{}
	d.free.Store(1 << 40)
	d.FS = errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		// of a directory that exists
		case errorfs.OpRemove, errorfs.OpRemoveAll, errorfs.OpFileClose, errorfs.OpLock, errorfs.OpMkdirAll:
			return nil
		}
		if d.full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	return d
}

func (d *boundedDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: uint64(d.free.Load())}, nil
}

func takes(n *Node) error {
	_, err := take(n, "k", 1000, 1)
	return err
}

// A leader with a nearly full disk answers reads and decides nothing, and decides when there
// is room again. It takes no snapshot, and logs the first refusal only.
func TestNearlyFullDisk(t *testing.T) {
	t.Parallel()
	disk := newBoundedDisk()
	c := startCluster(t, 1, func(o *Options) { o.fs = disk })
	n := c.leader()
	if err := takes(n); err != nil {
		t.Fatal(err)
	}
	disk.free.Store(1 << 10)
	testwait.Until(t, patience, "a decision is refused", func() bool {
		err := takes(n)
		coded, ok := err.(*link.Error)
		return ok && coded.Code() == "MISCONF"
	})
	ds := execOn(t, n, &engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte("k")}}})
	if ds[0].Status == engine.Aborted {
		t.Error("a read is not answered")
	}
	for range 3 {
		saved := make(chan error, 1)
		if err := n.Save(func(err error) { saved <- err }); err != nil {
			t.Fatal(err)
		}
		if err := <-saved; !persist.IsFull(err) {
			t.Errorf("a snapshot without room: %v", err)
		}
	}
	s := n.stack.Load()
	s.saveMu.Lock()
	if pause := s.nextSave.Sub(s.lastSave.At); pause < 3*time.Second {
		t.Errorf("after three failures the pause is %v", pause)
	}
	s.saveMu.Unlock()
	if lines := strings.Count(c.logs.String(), "snapshot failed; "); lines != 1 {
		t.Errorf("three failures are logged %d times", lines)
	}
	disk.free.Store(1 << 40)
	eventually(t, "there is room, and a decision is made", func() bool { return takes(n) == nil })
	if err := n.Save(func(error) {}); err != nil {
		t.Error(err)
	}
}

// A node whose log does not fit on its disk stops its raft and does not end; it starts raft
// when there is room. It starts on a full disk in the same manner.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := newBoundedDisk()
	c := startCluster(t, 1, func(o *Options) { o.fs = disk })
	n := c.leader()
	if err := takes(n); err != nil {
		t.Fatal(err)
	}
	disk.full.Store(true)
	testwait.Until(t, patience, "raft is stopped", func() bool {
		takes(n)
		return n.stack.Load() == nil
	})
	disk.full.Store(false)
	eventually(t, "raft is started", func() bool { return takes(n) == nil })
	o := n.o
	c.close(n)

	disk.full.Store(true)
	n = c.open(o)
	if err := takes(n); err == nil {
		t.Error("a node that can't write decides")
	}
	disk.full.Store(false)
	eventually(t, "the node that started on a full disk decides", func() bool { return takes(n) == nil })
	if d, err := take(n, "k", 1000, 0); err != nil || d.Remaining > 997 {
		t.Errorf("after the restart %+v, %v", d, err)
	}
}
