package replication

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/replication/link"
	"limitsrv/replication/raftfix"
)

// A snapshot is a stream of sections, each its length, 4 bytes, the CRC32C of its
// contents, 4 bytes, and the contents; numbers are little-endian. The first is a
// snapshotHead in JSON, the last has the length 0 and the CRC of the one before, and all
// between are blocks of Engine.Freeze. Nothing follows.
type snapshotHead struct {
	Format  int            `json:"format"`
	Cluster link.ClusterID `json:"cluster"`
	Seed    persist.Seed   `json:"seed"`
	Index   uint64         `json:"index"`
	Term    uint64         `json:"term,omitempty"` // of that entry; 0: unknown
	Stamp   engine.Instant `json:"stamp"`
	Keys    int64          `json:"keys"`
	clusterState
}

const (
	snapshotFormat = 1
	sectionHead    = 8
	// maxSection bounds a block: a LOG key with a million entries is the longest.
	maxSection = 64 << 20
	// sectionAtOnce bounds the bytes of a section read at once, because its length is not
	// verified yet.
	sectionAtOnce = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An fsmSnapshot is an FSM frozen at an entry, to be written while the FSM continues.
type fsmSnapshot struct {
	head  snapshotHead
	view  *engine.Snapshot
	hurry *atomic.Bool
	// stopping makes Persist return errStopping.
	stopping *atomic.Bool
	saved    func(bytes int64)
}

// errStopping: a snapshot is abandoned because the node stops. The log has its entries.
var errStopping = errors.New("the node is stopping")

// Snapshot freezes the FSM. Cost: no more than entering each shard once.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	f.applying.Lock()
	defer f.applying.Unlock()
	view := f.engine.Load().Freeze()
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.counts.snapshotBytes.Load()
	return &fsmSnapshot{
		head: snapshotHead{
			Format: snapshotFormat, Cluster: f.cluster, Seed: f.seed, Index: f.index.Load(), Term: f.term,
			Stamp: engine.Instant(f.stamp.Load()), Keys: view.Keys(), clusterState: f.state.clone(),
		},
		view:  view,
		hurry: new(atomic.Bool), stopping: &f.stopping,
		saved: func(bytes int64) {
			f.counts.snapshotBytes.Add(-before)
			f.snapshotSize.Store(bytes)
		},
	}, nil
}

func (c *clusterState) clone() (copied clusterState) {
	text, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(text, &copied)
	}
	if err != nil {
		panic(err) // maps and strings can always be encoded
	}
	return copied
}

// Release ends the freeze.
func (s *fsmSnapshot) Release() { s.view.Close() }

// Persist writes the snapshot into sink, with pauses that leave the processor to
// decisions.
func (s *fsmSnapshot) Persist(sink raft.SnapshotSink) error {
	raftfix.MarkOwn(sink)
	w := &sectionWriter{w: bufio.NewWriterSize(sink, 256<<10)}
	err := s.write(w)
	if err == nil && s.stopping.Load() { // finishing it may take long
		err = errStopping
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write snapshot %s: %w", sink.ID(), err), sink.Cancel())
	}
	if err := sink.Close(); err != nil {
		return fmt.Errorf("finish snapshot %s: %w", sink.ID(), err)
	}
	s.saved(w.bytes)
	return nil
}

func (s *fsmSnapshot) write(w *sectionWriter) error {
	head, err := json.Marshal(s.head)
	if err != nil {
		return err
	}
	w.section(head)
	rests := persist.NewThrottle(s.hurry)
	var block []byte
	for shard := range s.view.Shards() {
		for {
			if s.stopping.Load() {
				return errStopping
			}
			var ok bool
			if block, _, ok = s.view.Next(shard, block[:0]); !ok {
				break
			}
			w.section(block)
			rests.Pause()
		}
	}
	return w.end()
}

// A sectionWriter writes sections until a write fails.
type sectionWriter struct {
	w     *bufio.Writer
	crc   uint32
	bytes int64
	err   error
}

func (w *sectionWriter) section(data []byte) {
	w.crc = crc32.Checksum(data, castagnoli)
	w.put(uint32(len(data)), data)
}

// end writes the end mark and returns the first error.
func (w *sectionWriter) end() error {
	w.put(0, nil)
	return errors.Join(w.err, w.w.Flush())
}

func (w *sectionWriter) put(length uint32, data []byte) {
	if w.err != nil {
		return
	}
	var head [sectionHead]byte
	binary.LittleEndian.PutUint32(head[:], length)
	binary.LittleEndian.PutUint32(head[4:], w.crc)
	if _, w.err = w.w.Write(head[:]); w.err == nil {
		_, w.err = w.w.Write(data)
	}
	w.bytes += sectionHead + int64(len(data))
}

// Restore replaces the FSM's state with a snapshot's. It reads the whole snapshot first:
// on any error the state is unchanged.
func (f *fsm) Restore(from io.ReadCloser) error {
	defer from.Close()
	head, e, err := f.read(bufio.NewReaderSize(from, 256<<10))
	if err != nil {
		return fmt.Errorf("restore a snapshot: %w", err)
	}
	f.applying.Lock()
	defer f.applying.Unlock()
	f.mu.Lock()
	f.state = head.clusterState
	f.mu.Unlock()
	f.engine.Store(e)
	f.term = head.Term
	f.stamp.Store(int64(head.Stamp))
	f.stampedAt.Store(int64(f.mono()))
	f.index.Store(head.Index)
	f.counts.snapshotBytes.Store(0)
	f.counts.installed.Add(1)
	return nil
}

func (f *fsm) read(from *bufio.Reader) (head snapshotHead, e *engine.Engine, err error) {
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
	case head.Cluster != f.cluster:
		return head, nil, fmt.Errorf("it is of cluster %v, this is one of %v", head.Cluster, f.cluster)
	case head.Seed != f.seed:
		return head, nil, errors.New("its seed differs from this node's")
	}
	if err := checkLevel(head.Level, f.maxLevel); err != nil {
		return head, nil, err
	}
	if head.Members == nil {
		head.Members = make(map[string]Member)
	}
	e = f.emptyEngine()
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
	return head, e, nil
}

// A sectionReader reads sections.
type sectionReader struct {
	r    *bufio.Reader
	data bytes.Buffer
	crc  uint32
}

// next returns the next section, valid until the next call, and io.EOF at the end mark.
func (r *sectionReader) next() ([]byte, error) {
	var head [sectionHead]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return nil, truncatedError(err)
	}
	length, crc := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
	switch {
	case length == 0 && crc == r.crc:
		return nil, io.EOF
	case length == 0 || length > maxSection:
		return nil, fmt.Errorf("a section of %d bytes", length)
	}
	r.data.Reset()
	for left := int64(length); left > 0; {
		n, err := io.CopyN(&r.data, r.r, min(left, sectionAtOnce))
		if err != nil {
			return nil, truncatedError(err)
		}
		left -= n
	}
	if r.crc = crc32.Checksum(r.data.Bytes(), castagnoli); r.crc != crc {
		return nil, errors.New("a checksum does not match")
	}
	return r.data.Bytes(), nil
}

// truncatedError converts an EOF to an error that says that the stream is truncated.
func truncatedError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is truncated")
	}
	return err
}
