package fsm

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
	"limitsrv/persist"
	"limitsrv/replication/link"
)

func newTestFSM() *FSM {
	return New(Options{Cluster: link.ClusterID{1, 2, 3}, Seed: persist.Seed{4, 5, 6},
		Monotonic: func() time.Duration { return 0 }})
}

var everyAlgorithm = map[string]engine.Params{
	"token": {Alg: engine.Token, Limit: 10, Count: 1, Period: 1e12},
	"leaky": {Alg: engine.Leaky, Limit: 10, Count: 1, Period: 1e12},
	"fixed": {Alg: engine.Fixed, Limit: 10, Period: engine.MaxPeriod},
	"slide": {Alg: engine.Slide, Limit: 10, Period: engine.MaxPeriod},
	"log":   {Alg: engine.Log, Limit: 10, Period: engine.MaxPeriod},
	"lease": {Alg: engine.Lease, Limit: 10, Period: engine.MaxPeriod},
}

// A sink is a snapshot in memory. It fails beyond most bytes, if that is not 0.
type sink struct {
	bytes.Buffer
	most             int
	closed, canceled bool
}

var errSinkFull = errors.New("the sink is full")

func (s *sink) Write(p []byte) (int, error) {
	if s.most > 0 && s.Len()+len(p) > s.most {
		return 0, errSinkFull
	}
	return s.Buffer.Write(p)
}

func (s *sink) ID() string    { return "test" }
func (s *sink) Close() error  { s.closed = true; return nil }
func (s *sink) Cancel() error { s.canceled = true; return nil }

// snapshotOf returns a snapshot of an FSM.
func snapshotOf(t testing.TB, f *FSM) []byte {
	t.Helper()
	view, err := f.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer view.Release()
	var s sink
	if err := view.Persist(&s); err != nil || !s.closed {
		t.Fatalf("to write a snapshot: %v, closed %v", err, s.closed)
	}
	return s.Bytes()
}

func restore(f *FSM, data []byte) error { return f.Restore(io.NopCloser(bytes.NewReader(data))) }

// A logGenerator makes entries that use every algorithm, the same for the same seed.
type logGenerator struct {
	r     *rand.Rand
	stamp engine.Instant
	index uint64
}

func newLogGenerator(seed uint64) *logGenerator {
	return &logGenerator{r: rand.New(rand.NewPCG(seed, 1)), stamp: 1e18}
}

// next returns an entry of a few ops.
func (s *logGenerator) next() *raft.Log {
	var b engine.Batch
	names := []string{"token", "leaky", "fixed", "slide", "log", "lease"}
	for range 1 + s.r.IntN(8) {
		name := names[s.r.IntN(len(names))]
		p := everyAlgorithm[name]
		op := engine.Op{Kind: engine.Take, N: 1, Key: []byte(name + strconv.Itoa(s.r.IntN(40))), Params: p}
		if p.Alg == engine.Lease {
			op.Kind, op.ID = engine.Acquire, []byte(strconv.Itoa(s.r.IntN(20)))
		}
		switch s.r.IntN(12) {
		case 0:
			op = engine.Op{Kind: engine.Forget, Key: op.Key}
		case 1:
			if p.Alg != engine.Lease {
				op = engine.Op{Kind: engine.Refund, N: 1, Key: op.Key}
			}
		}
		b.Ops = append(b.Ops, op)
	}
	s.stamp += engine.Instant(s.r.Int64N(int64(time.Second)))
	s.index++
	var e persist.Entry
	e.Append(s.stamp, &b)
	return &raft.Log{Index: s.index, Data: bytes.Clone(e.Bytes())}
}

// control returns a control entry.
func (s *logGenerator) control(t testing.TB, c ControlEntry) *raft.Log {
	t.Helper()
	data, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s.index++
	return &raft.Log{Index: s.index, Data: data}
}

// An fsmState is the state that two FSMs must have in common.
type fsmState struct {
	Digest  uint64
	Keys    int64
	Index   uint64
	Stamp   int64
	Members map[string]Member
	Level   int
}

func stateOf(f *FSM) fsmState {
	e := f.Engine()
	return fsmState{Digest: e.Digest(e.Now()), Keys: e.Len(), Index: f.Index(), Stamp: f.stamp.Load(),
		Members: f.Members(), Level: f.Level()}
}

func TestSnapshotRoundTrip(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	s, f := newLogGenerator(seed), newTestFSM()
	f.Apply(s.control(t, ControlEntry{Member: &Member{Node: "a", Raft: "b:1", Client: "c:2", Version: "v", Level: 1}}))
	f.Apply(s.control(t, ControlEntry{Member: &Member{Node: "gone"}}))
	f.Apply(s.control(t, ControlEntry{Gone: "gone"}))
	for range 2000 {
		f.Apply(s.next())
	}
	want := stateOf(f)
	if want.Keys < 100 || len(want.Members) != 1 {
		t.Fatalf("the story makes no state to speak of: %+v", want)
	}
	view, err := f.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var written sink
	later := []*raft.Log{}
	for range 500 { // the FSM continues while it is written
		later = append(later, s.next())
		f.Apply(later[len(later)-1])
	}
	if err := view.Persist(&written); err != nil {
		t.Fatal(err)
	}
	view.Release()
	other := newTestFSM()
	other.Apply(newLogGenerator(seed + 1).next()) // a snapshot replaces it
	if err := restore(other, written.Bytes()); err != nil {
		t.Fatal(err)
	}
	if got := stateOf(other); !reflect.DeepEqual(got, want) {
		t.Fatalf("restored\n got %+v\nwant %+v", got, want)
	}
	if f.snapshotBytes.Load() != int64(written.Len()) || f.sinceSnapshot.Load() == 0 {
		t.Errorf("a snapshot of %d bytes is counted as %d, with %d bytes of log behind it", written.Len(),
			f.snapshotBytes.Load(), f.sinceSnapshot.Load())
	}
	for _, l := range later {
		other.Apply(l)
	}
	if got, want := stateOf(other), stateOf(f); !reflect.DeepEqual(got, want) {
		t.Errorf("after more entries\n got %+v\nwant %+v", got, want)
	}
}

func TestSnapshotFailure(t *testing.T) {
	s, f := newLogGenerator(1), newTestFSM()
	for range 100 {
		f.Apply(s.next())
	}
	view, err := f.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer view.Release()
	full := sink{most: 10}
	if err := view.Persist(&full); !errors.Is(err, errSinkFull) || !full.canceled || full.closed {
		t.Errorf("a sink that is full: %v, canceled %v, closed %v", err, full.canceled, full.closed)
	}
	if f.sinceSnapshot.Load() == 0 {
		t.Error("the log behind a snapshot that failed is not counted")
	}
}

// framed frames sections as in a snapshot; the first is the head.
func framed(t testing.TB, sections ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := sectionWriter{w: bufio.NewWriter(&b)}
	for _, s := range sections {
		w.section(append(make([]byte, persist.RowSumBytes), s...))
	}
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sectionsOf splits a snapshot into sections.
func sectionsOf(t testing.TB, data []byte) (all [][]byte) {
	t.Helper()
	r := sectionReader{r: bufio.NewReader(bytes.NewReader(data))}
	for {
		s, err := r.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.Clone(s))
	}
}

// A snapshot that is incomplete, or not for this node, leaves the state unchanged.
func TestRestoreIsAtomic(t *testing.T) {
	s, from := newLogGenerator(1), newTestFSM()
	for range 20 {
		from.Apply(s.next())
	}
	data := snapshotOf(t, from)
	sections := sectionsOf(t, data)
	if !bytes.Equal(framed(t, sections...), data) || len(sections) < 2 {
		t.Fatalf("the test does not frame %d sections as a snapshot does", len(sections))
	}
	f := newTestFSM()
	f.Apply(newLogGenerator(2).next())
	want := stateOf(f)
	refuses := func(input string, data []byte, text string) {
		t.Helper()
		err := restore(f, data)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", input, err, text)
		}
		if got := stateOf(f); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s has changed the state\n got %+v\nwant %+v", input, got, want)
		}
	}
	for cut := range data {
		refuses("the first "+strconv.Itoa(cut)+" bytes", data[:cut], "truncated")
	}
	for at := range data {
		flipped := bytes.Clone(data)
		flipped[at] ^= 1 << (at % 8)
		refuses("a bit of byte "+strconv.Itoa(at), flipped, "")
	}
	refuses("a byte more", append(bytes.Clone(data), 0), "bytes follow")
	refuses("a block twice", framed(t, append(slices.Clone(sections), sections[1])...), "")
	refuses("a missing block", framed(t, sections[:len(sections)-1]...), "its head says")
	head := func(change func(*snapshotHead)) []byte {
		var h snapshotHead
		if err := json.Unmarshal(sections[0], &h); err != nil {
			t.Fatal(err)
		}
		change(&h)
		text, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		return framed(t, append([][]byte{text}, sections[1:]...)...)
	}
	refuses("another cluster", head(func(h *snapshotHead) { h.Cluster[0]++ }), "of cluster")
	refuses("another seed", head(func(h *snapshotHead) { h.Seed[0]++ }), "seed")
	refuses("a newer format", head(func(h *snapshotHead) { h.Format++ }), "newer")
	refuses("a newer level", head(func(h *snapshotHead) { h.Level = KnownLevel + 1 }), "newer")
	refuses("more keys", head(func(h *snapshotHead) { h.Keys++ }), "its head says")
	if err := restore(f, head(func(*snapshotHead) {})); err != nil {
		t.Errorf("with its own head: %v", err)
	}
	if got, want := stateOf(f), stateOf(from); !reflect.DeepEqual(got, want) {
		t.Errorf("restored\n got %+v\nwant %+v", got, want)
	}
}

// FuzzRestore reads any bytes as a snapshot, and as a head and a block of a snapshot with
// right checksums.
func FuzzRestore(f *testing.F) {
	s, from := newLogGenerator(1), newTestFSM()
	for range 60 {
		from.Apply(s.next())
	}
	whole := snapshotOf(f, from)
	sections := sectionsOf(f, whole)
	f.Add(whole, []byte{}, []byte{})
	f.Add(whole[:len(whole)/2], []byte{}, []byte{})
	for _, block := range sections[1:] {
		f.Add([]byte{}, sections[0], block)
	}
	f.Fuzz(func(t *testing.T, data, head, block []byte) {
		if len(data) == 0 && len(head) > 0 && len(block) > 0 {
			data = framed(t, head, block)
		}
		m := newTestFSM()
		m.Apply(newLogGenerator(2).next())
		before := stateOf(m)
		if err := restore(m, data); err != nil {
			if got := stateOf(m); !reflect.DeepEqual(got, before) {
				t.Fatalf("a restore that fails with %v changes the state\n got %+v\nwant %+v", err, got, before)
			}
			return
		}
		again := newTestFSM()
		if err := restore(again, snapshotOf(t, m)); err != nil || !reflect.DeepEqual(stateOf(again), stateOf(m)) {
			t.Fatalf("written and read again: %v\n got %+v\nwant %+v", err, stateOf(again), stateOf(m))
		}
	})
}

// The bytes of a snapshot, which nodes of other versions read and wrote.
func TestSnapshotBytes(t *testing.T) {
	f := newTestFSM()
	f.Apply(newLogGenerator(1).next())
	view := f.Engine().Freeze()
	var want []byte
	section := func(contents []byte) {
		want = binary.LittleEndian.AppendUint32(want, uint32(len(contents)))
		want = binary.LittleEndian.AppendUint32(want, crc32.Checksum(contents, crc32.MakeTable(crc32.Castagnoli)))
		want = append(want, contents...)
	}
	section(fmt.Appendf(nil,
		`{"format":1,"cluster":"01020300000000000000000000000000","seed":"04050600000000000000000000000000","index":1,"stamp":%d,"keys":%d,"members":{},"level":1}`,
		f.Stamp(), f.Engine().Len()))
	var sum [4]byte
	for shard := range view.Shards() {
		for {
			block, _, ok := view.Next(shard, nil)
			if !ok {
				break
			}
			section(block)
			copy(sum[:], want[len(want)-len(block)-4:])
		}
	}
	view.Close()
	want = append(append(want, 0, 0, 0, 0), sum[:]...)
	if got := snapshotOf(t, f); !bytes.Equal(got, want) {
		t.Errorf("a snapshot is\n%q, want\n%q", got, want)
	}
}
