package storage

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc64"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"limitsrv/persist"
)

// A snapshotStore is raft's SnapshotStore: a directory with one directory for each snapshot, in the
// format of raft's FileSnapshotStore. The name of a snapshot ends in Unfinished until it is on
// disk. A snapshot is removed as soon as a write to it fails.
//
// Concurrency: any goroutine may call any method.
type snapshotStore struct {
	fs   vfs.FS
	dir  string
	keep int // number of snapshots that are kept and that List returns
	// room returns an error if the disk is too full to continue a snapshot.
	room func() error
	log  hclog.Logger

	written atomic.Int64 // number of the snapshot begun last, see nextNumber
}

const (
	metaFile  = "meta.json"
	stateFile = "state.bin"
	// maxMetaFile bounds a metaFile, which lists the members of the cluster, in bytes.
	maxMetaFile = 16 << 20
	// The room is checked again after each roomEvery written bytes.
	roomEvery = 4 << 20
	// snapshotBuffer is the size in bytes of the read and write buffers.
	snapshotBuffer = 256 << 10
)

var crcTable = crc64.MakeTable(crc64.ECMA)

// A storedMeta is the content of a metaFile.
type storedMeta struct {
	raft.SnapshotMeta
	CRC []byte // of the stateFile
}

// newSnapshotStore returns the store in dir, and creates the directory if necessary.
func newSnapshotStore(fsys vfs.FS, dir string, keep int, room func() error, log hclog.Logger) (*snapshotStore, error) {
	if err := persist.MakeDir(fsys, dir); err != nil {
		return nil, fmt.Errorf("create snapshot directory %s: %w", dir, err)
	}
	return &snapshotStore{fs: fsys, dir: dir, keep: keep, room: room, log: log}, nil
}

// removeUnfinished removes all unfinished snapshots. Requires: no snapshot is being written.
func removeUnfinished(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if strings.HasSuffix(name, Unfinished) {
			err = errors.Join(err, fsys.RemoveAll(fsys.PathJoin(dir, name)))
		}
	}
	return err
}

// Create implements raft.SnapshotStore.
func (s *snapshotStore) Create(version raft.SnapshotVersion, index, term uint64, servers raft.Configuration, at uint64,
	_ raft.Transport) (raft.SnapshotSink, error) {
	if version != raft.SnapshotVersionMax {
		return nil, fmt.Errorf("a snapshot of version %d, only %d is known", version, raft.SnapshotVersionMax)
	}
	if err := s.room(); err != nil {
		return nil, err
	}
	id := fmt.Sprintf("%d-%d-%d", term, index, s.nextNumber())
	k := &snapshotSink{
		store: s, dir: s.fs.PathJoin(s.dir, id+Unfinished), sum: crc64.New(crcTable),
		meta: raft.SnapshotMeta{Version: version, ID: id, Index: index, Term: term, Configuration: servers,
			ConfigurationIndex: at},
	}
	err := s.fs.MkdirAll(k.dir, 0o700)
	if err == nil {
		k.file, err = s.fs.Create(s.fs.PathJoin(k.dir, stateFile), vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		return nil, k.abandon(fmt.Errorf("create snapshot %s: %w", k.dir, err))
	}
	k.buffer = bufio.NewWriterSize(k.file, snapshotBuffer)
	return k, nil
}

// nextNumber returns the current time in milliseconds since the Unix epoch, or the last result plus
// 1 if that is greater.
func (s *snapshotStore) nextNumber() int64 {
	for {
		last := s.written.Load()
		next := max(last+1, time.Now().UnixMilli())
		if s.written.CompareAndSwap(last, next) {
			return next
		}
	}
}

// List implements raft.SnapshotStore. The newest snapshot is the first.
func (s *snapshotStore) List() ([]*raft.SnapshotMeta, error) {
	all, err := s.all()
	return all[:min(len(all), s.keep)], err
}

// all returns all complete snapshots with readable metadata, the newest first.
func (s *snapshotStore) all() (all []*raft.SnapshotMeta, err error) {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, Unfinished) {
			continue
		}
		meta, err := s.readMeta(name)
		if err != nil {
			s.log.Warn("a snapshot is ignored because its metadata can't be read", "name", name, "error", err)
			continue
		}
		all = append(all, &meta.SnapshotMeta)
	}
	slices.SortFunc(all, func(a, b *raft.SnapshotMeta) int {
		return cmp.Or(cmp.Compare(b.Term, a.Term), cmp.Compare(b.Index, a.Index), cmp.Compare(b.ID, a.ID))
	})
	return all, nil
}

func (s *snapshotStore) readMeta(id string) (m storedMeta, err error) {
	file, err := s.fs.Open(s.fs.PathJoin(s.dir, id, metaFile))
	if err != nil {
		return m, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxMetaFile))
	if err = errors.Join(err, file.Close()); err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, err
	}
	if m.Version != raft.SnapshotVersionMax {
		return m, fmt.Errorf("it has version %d, only %d is known", m.Version, raft.SnapshotVersionMax)
	}
	return m, nil
}

// Open implements raft.SnapshotStore. Cost: it reads the whole snapshot once to verify its
// checksum.
func (s *snapshotStore) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, err := s.readMeta(id)
	if err != nil {
		return nil, nil, fmt.Errorf("open snapshot %s: %w", id, err)
	}
	name := s.fs.PathJoin(s.dir, id, stateFile)
	if err := s.verify(name, meta.CRC); err != nil {
		return nil, nil, fmt.Errorf("open snapshot %s: %w", id, err)
	}
	file, err := s.fs.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("open snapshot %s: %w", id, err)
	}
	return &meta.SnapshotMeta, &snapshotReader{bufio.NewReaderSize(file, snapshotBuffer), file}, nil
}

func (s *snapshotStore) verify(name string, want []byte) error {
	file, err := s.fs.Open(name)
	if err != nil {
		return err
	}
	sum := crc64.New(crcTable)
	_, err = io.CopyBuffer(sum, struct{ io.Reader }{file}, make([]byte, snapshotBuffer))
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return errors.New("its checksum does not match")
	}
	return nil
}

// A snapshotReader reads the state of a snapshot.
type snapshotReader struct {
	*bufio.Reader
	file vfs.File
}

// Close implements io.Closer.
func (r *snapshotReader) Close() error { return r.file.Close() }

// reap removes all snapshots except the newest keep snapshots.
func (s *snapshotStore) reap(keep int) error {
	all, err := s.all()
	for _, old := range all[min(len(all), keep):] {
		err = errors.Join(err, s.fs.RemoveAll(s.fs.PathJoin(s.dir, old.ID)))
	}
	return err
}

// A snapshotSink is a snapshot that is being written. Concurrency: not safe for concurrent
// use.
type snapshotSink struct {
	store     *snapshotStore
	dir       string
	meta      raft.SnapshotMeta
	file      vfs.File // nil: not created, or closed
	buffer    *bufio.Writer
	sum       hash.Hash64
	unchecked int   // bytes written since the last check of the room
	failed    error // the first error; nil: no error yet
	over      bool  // complete or canceled
}

// ID implements raft.SnapshotSink.
func (k *snapshotSink) ID() string { return k.meta.ID }

// Write implements raft.SnapshotSink. After an error the snapshot is removed.
func (k *snapshotSink) Write(data []byte) (n int, err error) {
	if k.failed != nil {
		return 0, k.failed
	}
	if k.unchecked += len(data); k.unchecked >= roomEvery {
		k.unchecked = 0
		err = k.store.room()
	}
	if err == nil {
		n, err = k.buffer.Write(data)
	}
	if err != nil {
		return n, k.abandon(err)
	}
	k.sum.Write(data)
	k.meta.Size += int64(len(data))
	return n, nil
}

// Close implements raft.SnapshotSink. It completes the snapshot and removes older snapshots. After
// an error the new snapshot is removed.
func (k *snapshotSink) Close() error {
	if k.failed != nil || k.over {
		return k.failed
	}
	if err := k.complete(); err != nil {
		return k.abandon(err)
	}
	k.over = true
	if err := k.store.reap(k.store.keep); err != nil {
		k.store.log.Warn("can't remove an older snapshot; the next snapshot tries again", "error", err)
	}
	return nil
}

func (k *snapshotSink) complete() error {
	fsys := k.store.fs
	if err := k.buffer.Flush(); err != nil {
		return err
	}
	if err := k.file.Sync(); err != nil {
		return err
	}
	file := k.file
	k.file = nil
	if err := file.Close(); err != nil {
		return err
	}
	text, err := json.Marshal(storedMeta{k.meta, k.sum.Sum(nil)})
	if err != nil {
		return err
	}
	if err := persist.WriteSynced(fsys, fsys.PathJoin(k.dir, metaFile), append(text, '\n')); err != nil {
		return err
	}
	return persist.Publish(fsys, k.dir, strings.TrimSuffix(k.dir, Unfinished))
}

// Cancel implements raft.SnapshotSink. It removes the snapshot, unless the snapshot is complete.
func (k *snapshotSink) Cancel() error {
	if k.over || k.failed != nil {
		return nil
	}
	k.over = true
	return k.remove()
}

// abandon removes the snapshot because of the error why, and returns an error.
func (k *snapshotSink) abandon(why error) error {
	k.failed = errors.Join(why, k.remove())
	return k.failed
}

// remove closes the file, which would otherwise keep its space, and removes the snapshot.
func (k *snapshotSink) remove() error {
	if k.file != nil {
		_ = k.file.Close() // the content is discarded
		k.file = nil
	}
	return k.store.fs.RemoveAll(k.dir)
}
