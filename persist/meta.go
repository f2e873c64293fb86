package persist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// META is the file of a log's directory that names its segments. It is written whole to
// metaNew, synced, and renamed. Little-endian, 8 bytes each unless stated:
//
//	magic
//	CRC32C of all that follows, 4 bytes
//	version, 4 bytes
//	number of the codec, number of the next segment
//	for each segment: number, first index in the file, first index in the log, last
//	index (0 if it is not full), offset of its index, times of creation and of filling
//	in Unix nanoseconds (0 if it is not full), limit of its size
const (
	metaName    = "META"
	metaNew     = "META.new"
	metaMagic   = "limitLOG"
	metaVersion = 1
	metaHead    = 32
	metaSegment = 64
	// maxMetaBytes bounds the file to 65 536 segments.
	maxMetaBytes = 4 << 20
)

// logState is the content of META.
type logState struct {
	codec codecID
	types.PersistentState
}

// tail returns the segment that is written to.
func (s *logState) tail() *types.SegmentInfo { return &s.Segments[len(s.Segments)-1] }

// addTail adds an empty segment.
func (s *logState) addTail(first uint64, segmentBytes int64) {
	s.Segments = append(s.Segments, types.SegmentInfo{
		ID: s.NextSegmentID, BaseIndex: first, MinIndex: first, Codec: uint64(s.codec),
		CreateTime: time.Now(), SizeLimit: uint32(segmentBytes),
	})
	s.NextSegmentID++
}

// encode returns the bytes of META.
func (s *logState) encode() []byte {
	order := binary.LittleEndian
	b := append([]byte(metaMagic), 0, 0, 0, 0)
	b = order.AppendUint32(b, metaVersion)
	b = order.AppendUint64(b, uint64(s.codec))
	b = order.AppendUint64(b, s.NextSegmentID)
	for i := range s.Segments {
		g := &s.Segments[i]
		for _, v := range [...]uint64{
			g.ID, g.BaseIndex, g.MinIndex, g.MaxIndex, g.IndexStart, unixNano(g.CreateTime), unixNano(g.SealTime),
			uint64(g.SizeLimit),
		} {
			b = order.AppendUint64(b, v)
		}
	}
	order.PutUint32(b[8:], crc32.Checksum(b[12:], castagnoli))
	return b
}

func unixNano(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

// decodeMeta decodes the bytes of META. If they are damaged it returns the reason.
func decodeMeta(b []byte) (s *logState, reason string, err error) {
	order := binary.LittleEndian
	switch {
	case len(b) < metaHead || string(b[:8]) != metaMagic:
		return nil, "it is not a META file", nil
	case order.Uint32(b[8:]) != crc32.Checksum(b[12:], castagnoli):
		return nil, "its checksum does not match", nil
	case order.Uint32(b[12:]) != metaVersion:
		return nil, "", &NewerError{What: metaName, Format: int(order.Uint32(b[12:])), Known: metaVersion}
	}
	s = &logState{codec: codecID(order.Uint64(b[16:]))}
	if v := s.codec.version(); v != recordVersion {
		return nil, "", &NewerError{What: "the codec of the log", Format: v, Known: recordVersion}
	}
	s.NextSegmentID = order.Uint64(b[24:])
	b = b[metaHead:]
	if len(b) == 0 || len(b)%metaSegment != 0 {
		return nil, "its length is wrong", nil
	}
	for ; len(b) > 0; b = b[metaSegment:] {
		at := func(i int) uint64 { return order.Uint64(b[8*i:]) }
		g := types.SegmentInfo{
			ID: at(0), BaseIndex: at(1), MinIndex: at(2), MaxIndex: at(3), Codec: uint64(s.codec), IndexStart: at(4),
			CreateTime: time.Unix(0, int64(at(5))), SizeLimit: uint32(at(7)),
		}
		if filled := at(6); filled != 0 {
			g.SealTime = time.Unix(0, int64(filled))
		}
		s.Segments = append(s.Segments, g)
	}
	return s, s.check(), nil
}

// check verifies the invariants that raft-wal relies on.
func (s *logState) check() (reason string) {
	if s.codec < wal.FirstExternalCodecID {
		return "the number of the codec is out of range"
	}
	for i, g := range s.Segments {
		isTail := i == len(s.Segments)-1
		switch {
		case g.ID >= s.NextSegmentID || g.BaseIndex == 0 || g.MinIndex < g.BaseIndex || g.SizeLimit == 0:
			return fmt.Sprintf("segment %d is out of range", i)
		case isTail != g.SealTime.IsZero() || isTail != (g.MaxIndex == 0) || isTail != (g.IndexStart == 0):
			return fmt.Sprintf("segment %d of %d must be full, or must not be", i, len(s.Segments))
		case !isTail && g.MaxIndex < g.MinIndex:
			return fmt.Sprintf("segment %d ends before its start", i)
		case i > 0 && (g.BaseIndex != s.Segments[i-1].MaxIndex+1 || g.MinIndex != g.BaseIndex):
			return fmt.Sprintf("segment %d does not follow the one before", i)
		}
	}
	return ""
}

// readMeta reads META. Its error wraps fs.ErrNotExist if there is no META.
func readMeta(files vfs.FS, dir string) (*logState, error) {
	name := files.PathJoin(dir, metaName)
	b, err := readSmall(files, name, maxMetaBytes)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	s, reason, err := decodeMeta(b)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case reason != "":
		return nil, &CorruptError{File: name, Reason: reason}
	}
	return s, nil
}

// writeMeta replaces META. After an error either the old or the new META is there.
func writeMeta(files vfs.FS, dir string, s *logState) error {
	made := files.PathJoin(dir, metaNew)
	if err := replaceFile(files, made, files.PathJoin(dir, metaName), s.encode()); err != nil {
		return fmt.Errorf("write %s: %w", made, err)
	}
	return nil
}

// meta is the types.MetaStore of a log.
type meta struct {
	files   *files
	dir     string
	prepare int64       // bytes to reserve for a segment
	onError func(error) // called with the errors of CommitState
	mu      sync.Mutex  // guards state
	state   *logState   // as on disk; replaced, never changed
}

// current returns the state on disk. It must not be changed.
func (m *meta) current() *logState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// Load implements types.MetaStore.
func (m *meta) Load(string) (types.PersistentState, error) { return m.current().PersistentState, nil }

// CommitState implements types.MetaStore. It ignores the codec of a new segment, which
// raft-wal always sets to 1. Before META lists a segment as full, all of the segment is
// on disk; before META names a new segment, its file exists.
func (m *meta) CommitState(p types.PersistentState) error {
	err := m.commit(p)
	if err != nil {
		m.onError(err)
	}
	return err
}

func (m *meta) commit(p types.PersistentState) error {
	old := m.current()
	s := &logState{codec: old.codec, PersistentState: p}
	if reason := s.check(); reason != "" {
		return fmt.Errorf("write META of the log: %s", reason)
	}
	if err := m.files.sync(); err != nil {
		return err
	}
	if tail := s.tail(); tail.ID != old.tail().ID {
		if err := m.files.prepare(m.files.fs.PathJoin(m.dir, segment.FileName(*tail)), m.prepare); err != nil {
			return err
		}
	}
	if err := writeMeta(m.files.fs, m.dir, s); err != nil {
		return err
	}
	m.mu.Lock()
	m.state = s
	m.mu.Unlock()
	return nil
}

var errNoStableStore = errors.New("a log is not a stable store")

// GetStable implements types.MetaStore.
func (m *meta) GetStable([]byte) ([]byte, error) { return nil, errNoStableStore }

// SetStable implements types.MetaStore.
func (m *meta) SetStable(_, _ []byte) error { return errNoStableStore }

// Close implements types.MetaStore.
func (m *meta) Close() error { return nil }

// isMissing reports a file that does not exist.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
