package fsm

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/replication/link"
	"limitsrv/replication/raftfix"
)

// A snapshot is a stream of sections, each the length of its contents, 4 bytes,
// little-endian, and a row as of persist.SealRow without a key. The contents of the first
// section are a snapshotHead in JSON, and of all further sections a block of Engine.Freeze.
// The last section is only a head: the length 0 and the checksum of the row before. Nothing
// follows.
type snapshotHead struct {
	Format  int            `json:"format"`
	Cluster link.ClusterID `json:"cluster"`
	Seed    persist.Seed   `json:"seed"`
	Index   uint64         `json:"index"`
	Term    uint64         `json:"term,omitempty"` // of that entry; 0: unknown
	Stamp   engine.Instant `json:"stamp"`
	Told    int64          `json:"told,omitempty"` // engine.Snapshot.Told
	Keys    int64          `json:"keys"`
	// Effects are the effects of the calls up to Index.
	Effects persist.Effects `json:"effects,omitzero"`
	clusterState
}

const (
	snapshotFormat = 1
	lengthBytes    = 4
	// maxSection bounds a block: a LOG key with a million entries is the longest.
	maxSection = 64 << 20
	// sectionAtOnce bounds the bytes of a section read at once, because its length is not
	// verified yet.
	sectionAtOnce = 1 << 20
)

// An fsmSnapshot is an FSM frozen at an entry, to be written while the FSM continues.
type fsmSnapshot struct {
	f     *FSM
	head  snapshotHead
	view  *engine.Snapshot
	since int64 // FSM.sinceSnapshot at the freeze
}

// errStopping: a snapshot is abandoned because the node stops. The log has its entries.
var errStopping = errors.New("the node is stopping")

// Snapshot freezes the FSM. Cost: no more than entering each shard once.
func (f *FSM) Snapshot() (raft.FSMSnapshot, error) {
	f.applying.Lock()
	defer f.applying.Unlock()
	if f.Diverged() {
		return nil, errDiverged
	}
	view := f.engine.Load().Freeze()
	f.mu.Lock()
	defer f.mu.Unlock()
	return &fsmSnapshot{
		f: f, view: view, since: f.sinceSnapshot.Load(),
		head: snapshotHead{
			Format: snapshotFormat, Cluster: f.o.Cluster, Seed: f.o.Seed, Index: f.index.Load(), Term: f.term,
			Stamp: f.Stamp(), Told: view.Told(), Keys: view.Keys(), Effects: f.applied, clusterState: f.cluster.clone(),
		},
	}, nil
}

// Freeze freezes the state between two entries for a backup, and returns its origin.
// Requires: no other snapshot of the FSM is open. Cost: no more than entering each shard
// once.
func (f *FSM) Freeze() (*engine.Snapshot, persist.Origin) {
	f.applying.Lock()
	defer f.applying.Unlock()
	return f.engine.Load().Freeze(), persist.Origin{
		Cluster: f.o.Cluster.String(), Index: f.index.Load(), Term: f.term, Now: f.Stamp(),
	}
}

// SnapshotSizes returns the bytes of the log that were applied since the last snapshot, and
// the bytes of the last written snapshot.
func (f *FSM) SnapshotSizes() (since, last int64) {
	return f.sinceSnapshot.Load(), f.snapshotBytes.Load()
}

func (c *clusterState) clone() clusterState {
	return clusterState{Members: maps.Clone(c.Members), Level: c.Level, Skipped: slices.Clone(c.Skipped),
		Division: c.Division}
}

// Release ends the freeze.
func (s *fsmSnapshot) Release() { s.view.Close() }

// Persist writes the snapshot into sink, with pauses that leave the processor to
// decisions.
func (s *fsmSnapshot) Persist(sink raft.SnapshotSink) error {
	raftfix.MarkOwn(sink)
	w := &sectionWriter{w: bufio.NewWriterSize(sink, 256<<10)}
	err := s.write(w)
	if err == nil && s.f.Stopping() { // finishing it may take long
		err = errStopping
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write snapshot %s: %w", sink.ID(), err), sink.Cancel())
	}
	if err := sink.Close(); err != nil {
		return fmt.Errorf("finish snapshot %s: %w", sink.ID(), err)
	}
	s.f.sinceSnapshot.Add(-s.since)
	s.f.snapshotBytes.Store(w.bytes)
	return nil
}

func (s *fsmSnapshot) write(w *sectionWriter) error {
	head, err := json.Marshal(s.head)
	if err != nil {
		return err
	}
	w.section(append(make([]byte, persist.RowSumBytes), head...))
	var hurry atomic.Bool // no: it never is
	for shard := range s.view.Shards() {
		err := persist.ReadRows(s.view, shard, &hurry, func(_ uint64, row []byte) error {
			if s.f.Stopping() {
				return errStopping
			}
			w.section(row)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return w.end()
}

// A sectionWriter writes sections until a write fails.
type sectionWriter struct {
	w     *bufio.Writer
	sum   uint32 // of the last section
	bytes int64
	err   error
}

// section writes a row, after it has set its checksum.
func (w *sectionWriter) section(row []byte) {
	w.sum = persist.SealRow(nil, row)
	w.put(len(row)-persist.RowSumBytes, row)
}

// end writes the end mark and returns the first error.
func (w *sectionWriter) end() error {
	w.put(0, binary.LittleEndian.AppendUint32(nil, w.sum))
	if w.err != nil {
		return w.err
	}
	return w.w.Flush()
}

func (w *sectionWriter) put(length int, row []byte) {
	if w.err != nil {
		return
	}
	var head [lengthBytes]byte
	binary.LittleEndian.PutUint32(head[:], uint32(length))
	if _, w.err = w.w.Write(head[:]); w.err == nil {
		_, w.err = w.w.Write(row)
	}
	w.bytes += int64(len(head) + len(row))
}

// Restore replaces the FSM's state with a snapshot's. It reads the whole snapshot first:
// on any error the state is unchanged.
func (f *FSM) Restore(from io.ReadCloser) error {
	defer from.Close()
	head, e, err := f.read(bufio.NewReaderSize(from, 256<<10))
	if err != nil {
		return fmt.Errorf("restore a snapshot: %w", err)
	}
	f.set(State{Engine: e, Stamp: head.Stamp, Index: head.Index, Term: head.Term}, head.clusterState, head.Effects)
	f.sinceSnapshot.Store(0)
	f.installed.Add(1)
	f.o.Notices.Replaced()
	return nil
}

// A State is a state of another origin than a log.
type State struct {
	Engine      *engine.Engine // with the FSM's seed
	Stamp       engine.Instant
	Index, Term uint64 // of its last entry
	Level       int    // feature level of its log
	// Division is the division of its cluster; nil: it owns all slots.
	Division *Division
}

// Set replaces the FSM's state, without members.
func (f *FSM) Set(s State) {
	f.set(s, clusterState{Members: make(map[string]Member), Level: s.Level, Division: s.Division}, persist.Effects{})
}

func (f *FSM) set(s State, cluster clusterState, x persist.Effects) {
	f.applying.Lock()
	defer f.applying.Unlock()
	f.mu.Lock()
	f.cluster = cluster
	f.mu.Unlock()
	f.setEffects(x)
	f.engine.Store(s.Engine)
	f.setDivision(cluster.Division)
	f.term = s.Term
	f.stamp.Store(int64(s.Stamp))
	f.stampedAt.Store(int64(f.o.Monotonic()))
	f.reach(s.Index)
	f.o.Notices.Send()
}

func (f *FSM) read(from *bufio.Reader) (head snapshotHead, e *engine.Engine, err error) {
	r := sectionReader{r: from}
	text, err := r.next()
	if err != nil {
		return head, nil, err
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return head, nil, err
	}
	switch {
	case head.Format > snapshotFormat:
		return head, nil, &persist.NewerError{What: "the snapshot", Format: head.Format, Known: snapshotFormat}
	case head.Cluster != f.o.Cluster:
		return head, nil, fmt.Errorf("it is of cluster %v, this is one of %v", head.Cluster, f.o.Cluster)
	case head.Seed != f.o.Seed:
		return head, nil, errors.New("its seed differs from this node's")
	}
	if err := checkLevel(head.Level, f.o.Level); err != nil {
		return head, nil, err
	}
	if head.Members == nil {
		head.Members = make(map[string]Member)
	}
	e = f.NewEngine()
	for {
		block, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return head, nil, err
		}
		if err := e.Load(block); err != nil {
			return head, nil, err
		}
	}
	if _, err := from.ReadByte(); !errors.Is(err, io.EOF) {
		return head, nil, errors.Join(errors.New("bytes follow its end"), err)
	}
	if got := e.Len(); got != head.Keys {
		return head, nil, fmt.Errorf("it has %d keys, and its head says %d", got, head.Keys)
	}
	e.SetTime(head.Stamp)
	e.SetTold(head.Told)
	return head, e, nil
}

// A sectionReader reads sections.
type sectionReader struct {
	r   *bufio.Reader
	row bytes.Buffer
	sum uint32 // of the last section
}

// next returns the contents of the next section, valid until the next call, and io.EOF at
// the end mark.
func (r *sectionReader) next() ([]byte, error) {
	var head [lengthBytes]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return nil, truncatedError(err)
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length > maxSection {
		return nil, fmt.Errorf("a section of %d bytes", length)
	}
	r.row.Reset()
	for left := persist.RowSumBytes + int64(length); left > 0; {
		n, err := io.CopyN(&r.row, r.r, min(left, sectionAtOnce))
		if err != nil {
			return nil, truncatedError(err)
		}
		left -= n
	}
	if length == 0 {
		if binary.LittleEndian.Uint32(r.row.Bytes()) != r.sum {
			return nil, errors.New("a section of 0 bytes")
		}
		return nil, io.EOF
	}
	block, sum, ok := persist.OpenRow(nil, r.row.Bytes())
	if !ok {
		return nil, errors.New("a checksum does not match")
	}
	r.sum = sum
	return block, nil
}

// truncatedError converts an EOF to an error that says that the stream is truncated.
func truncatedError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is truncated")
	}
	return err
}
