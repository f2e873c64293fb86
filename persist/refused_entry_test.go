package persist

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

// refusedBatches are batches that no program writes. Each index and count in them that an
// engine would rely on is out of range.
var refusedBatches = map[string]engine.Batch{
	"an unknown kind": {Ops: []engine.Op{{Kind: engine.Needs + 1, Key: []byte("k")}}},
	"a group without its ops": {Ops: []engine.Op{{Params: token, N: 1, Group: 3, Key: []byte("k")},
		{Params: token, N: 1, Key: []byte("k")}}},
	"a pair without its op":   {Ops: []engine.Op{{Kind: engine.Needs, Group: 2}}},
	"a Needs without a group": {Ops: []engine.Op{{Kind: engine.Needs}}},
	"a group of a Needs":      {Ops: []engine.Op{{Kind: engine.Needs, Group: 1}}},
	"a Needs in a group": {Ops: []engine.Op{{Params: token, N: 1, Group: 2, Key: []byte("k")},
		{Kind: engine.Needs}}},
	"a Needs of an unknown space": {Ops: []engine.Op{{Kind: engine.Needs, DB: 15, Group: 2},
		{Params: token, N: 1, Key: []byte("k")}}},
	"a Forget in a pair": {Ops: []engine.Op{{Kind: engine.Needs, Group: 2},
		{Kind: engine.Forget, Key: []byte("k")}}},
	"a group within a group": {Ops: []engine.Op{{Params: token, N: 1, Group: 2, Key: []byte("k")},
		{Params: token, N: 1, Group: 2, Key: []byte("k")}}},
	"a group that is too large": {Ops: []engine.Op{{Params: token, N: 1, Group: 255, Key: []byte("k")}}},
	"a guard without a group":   {Ops: []engine.Op{{Params: token, N: 1, Mode: engine.Guard, Key: []byte("k")}}},
	"a guard on a bucket": {Ops: []engine.Op{{Params: token, N: 1, Mode: engine.Guard, Group: 2,
		Key: []byte("k")}, {Params: token, N: 1, Key: []byte("k")}}},
	"two modes in a group": {Ops: []engine.Op{{Params: token, N: 1, Mode: engine.AnyOf | engine.Shadow, Group: 1,
		Key: []byte("k")}}},
	"an unknown algorithm": {Ops: []engine.Op{{Params: engine.Params{Alg: 200, Limit: 1, Period: 1e9}, N: 1,
		Key: []byte("k")}}},
	"a plain value as a limit": {Ops: []engine.Op{{Params: engine.Params{Alg: engine.Box + 1, Limit: 1, Period: 1e9},
		N: 1, Key: []byte("k")}}},
	"a Take without parameters": {Ops: []engine.Op{{N: 1, Key: []byte("k")}}},
	"an Acquire of two": {Ops: []engine.Op{{Kind: engine.Acquire,
		Params: engine.Params{Alg: engine.Lease, Limit: 3, Period: 1e9}, N: 2, Key: []byte("k"), ID: []byte("i")}}},
	"too many permits":             {Ops: []engine.Op{{Params: token, N: engine.MaxN + 1, Key: []byte("k")}}},
	"an Expect that is not atomic": {Ops: []engine.Op{{Kind: engine.Expect, Key: []byte("k")}}},
	"an unknown database":          {Ops: []engine.Op{{Kind: engine.Peek, DB: 16, Key: []byte("k")}}},
	"an empty key":                 {Ops: []engine.Op{{Kind: engine.Peek}}},
	"a key that is too long":       {Ops: []engine.Op{{Kind: engine.Peek, Key: make([]byte, engine.MaxKeyBytes+1)}}},
	"an unknown call": {Ops: []engine.Op{{Kind: engine.Do}}, Calls: []engine.Call{{Command: 1 << 12}},
		Level: 1},
	"a call without its arguments": {Ops: []engine.Op{{Kind: engine.Do}},
		Calls: []engine.Call{{Command: scribeSwap, Args: [][]byte{nil}}}, Level: 1},
	"a call in an unknown place": {Ops: []engine.Op{{Kind: engine.Do, DB: 99}},
		Calls: []engine.Call{{Command: scribeGet, Args: [][]byte{nil}}}, Level: 1},
	"a call of no level": {Ops: []engine.Op{{Kind: engine.Do}},
		Calls: []engine.Call{{Command: scribeGet, Args: [][]byte{nil}}}},
	"a call that is late": {Ops: []engine.Op{{Kind: engine.Do}},
		Calls: []engine.Call{{Command: scribeGet, Micros: engine.MaxMicros + 1, Args: [][]byte{nil}}}, Level: 1},
}

// TestEntryThatCanNotBeReplayed writes entries that are intact and can't be replayed. A start
// must report each as damage, Check must report the same, and Repair must cut the log off
// before it.
func TestEntryThatCanNotBeReplayed(t *testing.T) {
	for name, bad := range refusedBatches {
		t.Run(name, func(t *testing.T) {
			o := testOptions(t, vfs.NewMem(), Always)
			o.Engine = engine.Options{Seed: [16]byte{4}, Commands: scribe{}}
			s := start(t, o)
			good := &engine.Batch{Ops: []engine.Op{{Params: token, N: 1, Key: []byte("k")}}}
			write(good, 0, scribeAppend, "text", "x")
			good.Level = 1
			if err := perform(s, good); err != nil {
				t.Fatal(err)
			}
			digest := s.Engine().Digest(s.Engine().Now())
			var entry Entry
			entry.Append(s.Engine().Now(), &bad)
			index, err := s.log.Load().Append(entry.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			end(t, s, false)
			rejected(t, o, index)
			asked := ""
			if err := Repair(o.FS, testDir, scribe{}, func(string) {},
				func(question string) bool { asked += question; return true }); err != nil ||
				!strings.Contains(asked, "can't be applied") {
				t.Fatalf("Repair returns %v and asks %q", err, asked)
			}
			if err := Check(o.FS, testDir, scribe{}, func(string) {}); err != nil {
				t.Errorf("after Repair Check returns %v", err)
			}
			s = start(t, o)
			defer end(t, s, false)
			if got := s.Engine().Digest(s.Engine().Now()); got != digest || s.log.Load().Last() != index-1 {
				t.Errorf("after Repair the log ends with entry %d and the digest is %x, want %d and %x", s.log.Load().Last(), got,
					index-1, digest)
			}
		})
	}
}

// rejected fails unless a start, ReadState and Check reject a directory, and name an entry.
func rejected(t *testing.T, o Options, index uint64) {
	t.Helper()
	name, said := fmt.Sprintf("entry %d", index), ""
	if err := Check(o.FS, testDir, scribe{}, func(line string) { said += line + "\n" }); !errors.Is(err, ErrDamaged) ||
		!strings.Contains(said, name) {
		t.Errorf("Check returns %v and says %s", err, said)
	}
	if _, err := ReadState(context.Background(), o.FS, testDir, scribe{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("ReadState returns %v", err)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Recover(context.Background()); err == nil || !strings.Contains(err.Error(), name) ||
		!strings.Contains(err.Error(), "limitsrv check") {
		t.Errorf("Recover returns %v", err)
	}
	if err := s.Close(context.Background(), SaveNever); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotThatCanNotBeLoaded writes a snapshot of intact rows that no engine loads: a start
// and Check must reject it.
func TestSnapshotThatCanNotBeLoaded(t *testing.T) {
	o := testOptions(t, vfs.NewMem(), Always)
	s := start(t, o)
	if err := perform(s, &engine.Batch{Ops: []engine.Op{{Params: token, N: 1, Key: []byte("k")}}}); err != nil {
		t.Fatal(err)
	}
	meta := Meta{LogDir: s.log.Load().Name(), LogIndex: 1, Seed: s.dir.Seed}
	end(t, s, false)
	snapshots, err := OpenSnapshots(o.FS, o.FS.PathJoin(testDir, snapshotsDir), SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := snapshots.Write(context.Background(), newState(1, 10, 0).source(), meta, nil); err != nil {
		t.Fatal(err)
	}
	if err := snapshots.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Check(o.FS, testDir, nil, func(string) {}); !errors.Is(err, ErrDamaged) {
		t.Errorf("Check returns %v", err)
	}
	if s, err = Open(o); err != nil {
		t.Fatal(err)
	}
	defer end(t, s, false)
	if err := s.Recover(context.Background()); err == nil {
		t.Error("Recover returns nil")
	}
}
