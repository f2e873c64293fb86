package persist

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/objstorage"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/internal/pace"
)

// The free room is checked again after each roomEvery bytes of a table.
const roomEvery = 1 << 20

// After each syncEvery bytes of a table the disk is asked to start writing them, so that
// the sync at the end is short and delays other syncs little.
const syncEvery = 1 << 20

// Write writes a new snapshot of a source and removes older snapshots. It reads the source
// to its end but does not close it. It uses at most half of the processors, for half of the
// time, unless Hurry is set or the source is Crowded. progress may be nil.
//
// After an error or a crash the older snapshot is unchanged. The new snapshot may exist as
// well, but only if it is complete and on disk. So the logs that continue from either must
// be kept until Write returns nil or Latest returns the newest. Remains of an incomplete
// snapshot are removed at once, or, if the process ends or the store fails, by OpenSnapshots
// and the next Write.
func (s *Snapshots) Write(ctx context.Context, from BlockSource, meta Meta, progress Progress) (Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var info Info
	err := s.withStore(forWriting, func(store *store) (err error) {
		info, err = s.write(ctx, store, from, meta, progress)
		return err
	})
	switch {
	case err != nil && info.Generation == 0: // no goroutine writes to the files any more
		return Info{}, fmt.Errorf("write a snapshot to %s: %w", s.dir, errors.Join(err, s.removeIncomplete()))
	case err != nil: // the snapshot is complete
		s.log.Warn("snapshot written, but closing its store failed", "error", err)
	}
	return info, nil
}

func (s *Snapshots) write(ctx context.Context, store *store, from BlockSource, meta Meta,
	progress Progress) (Info, error) {
	older, err := s.generations()
	if err != nil {
		return Info{}, err
	}
	if err := s.refuseNewer(older); err != nil {
		return Info{}, err
	}
	newest, err := s.removeLeftovers(ctx, store, older)
	if err != nil {
		return Info{}, err
	}
	if err := CheckRoom(s.fs, s.dir, s.expectedBytes(older, from.Keys()), s.rest); err != nil {
		return Info{}, err
	}
	w := snapshotWriter{
		reserve: s.rest, fs: store.fs, staging: s.fs.PathJoin(s.dir, stagingName), store: store, from: from,
		info:     Info{Meta: meta, Generation: newest + 1, Keys: from.Keys(), Shards: make([]ShardInfo, from.Shards())},
		progress: &snapshotProgress{report: progress, keys: from.Keys()},
		hurry:    &s.hurry,
	}
	tables, err := w.writeTables(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return Info{}, err
	}
	if len(tables) > 0 {
		if err := store.do(func() error { return store.db.Ingest(ctx, tables) }); err != nil {
			return Info{}, fmt.Errorf("ingest the tables: %w", err)
		}
	}
	if err := s.writeRecord(w.info); err != nil {
		return Info{}, errors.Join(err, s.removeUnrecorded(ctx, store, w.info.Generation))
	}
	// From here on the snapshot is complete, even if older snapshots cannot be removed.
	if err := s.removeOlder(ctx, store, older, newest); err != nil {
		s.log.Warn("could not remove older snapshots, the next snapshot retries", "error", err)
	}
	w.progress.done()
	return w.info, nil
}

// removeLeftovers removes the remains of incomplete Writes. It returns the highest number
// of a generation, complete or not.
func (s *Snapshots) removeLeftovers(ctx context.Context, store *store, complete []uint64) (newest uint64, err error) {
	tables, err := store.tables()
	if err != nil {
		return 0, err
	}
	newest = slices.Max(append(slices.Collect(maps.Keys(tables)), append(complete, 0)...))
	for generation := range tables {
		if !slices.Contains(complete, generation) {
			if err := store.removeRows(ctx, generation, generation); err != nil {
				return 0, err
			}
		}
	}
	if err := s.removeIncomplete(); err != nil {
		return 0, err
	}
	return newest, MakeDir(s.fs, s.fs.PathJoin(s.dir, stagingName))
}

// removeIncomplete removes tables that were not ingested, and incomplete records. It writes
// nothing. Requires: no Write is running.
func (s *Snapshots) removeIncomplete() error {
	return removeMatching(s.fs, s.dir, func(name string) bool { return name == stagingName || isTemporary(name) })
}

// removeUnrecorded removes the rows of a generation without a complete record. It does nothing if
// the record exists.
func (s *Snapshots) removeUnrecorded(ctx context.Context, store *store, generation uint64) error {
	if _, err := s.fs.Stat(s.fs.PathJoin(s.dir, recordName(generation))); !isMissing(err) {
		return err
	}
	return store.removeRows(ctx, generation, generation)
}

// expectedBytes estimates the size on disk, in bytes, of a snapshot with this many keys, from the
// newest of the given snapshots. 0: there is no snapshot, or it can't be read.
func (s *Snapshots) expectedBytes(generations []uint64, keys int64) int64 {
	if len(generations) == 0 {
		return 0
	}
	last, err := s.readRecord(generations[0])
	if err != nil {
		return 0
	}
	bytes, err := s.DiskBytes()
	if err != nil {
		return 0
	}
	return int64(float64(bytes) * max(1, float64(keys)/float64(max(last.Keys, 1))))
}

// removeOlder removes the older snapshots: records first, so that there is never a record
// without rows.
func (s *Snapshots) removeOlder(ctx context.Context, store *store, records []uint64, newest uint64) error {
	if len(records) == 0 {
		return nil
	}
	if err := s.removeRecords(records); err != nil {
		return err
	}
	return store.removeRows(ctx, 0, newest)
}

// A snapshotWriter writes the tables of a generation.
type snapshotWriter struct {
	fs       vfs.FS
	reserve  int64 // bytes that must stay free
	staging  string
	store    *store
	from     BlockSource
	info     Info // each worker of writeTable fills in its shard
	progress *snapshotProgress
	hurry    *atomic.Bool
}

// writeTables writes a table for each shard with keys, in parallel, and returns their
// names.
func (w *snapshotWriter) writeTables(ctx context.Context) ([]string, error) {
	names := make([]string, w.from.Shards())
	workers := max(1, runtime.NumCPU()/2)
	defer pace.AddProcessors(workers)()
	err := inParallel(ctx, len(names), workers, func(ctx context.Context, shard int) error {
		return w.store.do(func() (err error) {
			pace.LowerPriority()
			names[shard], err = w.writeTable(ctx, shard)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("write the tables: %w", err)
	}
	for _, shard := range w.info.Shards {
		w.info.Rows, w.info.Bytes = w.info.Rows+shard.Rows, w.info.Bytes+shard.Bytes
	}
	if err := w.info.check(w.info.Generation); err != nil {
		return nil, fmt.Errorf("blocks are out of order: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), nil
}

// writeTable writes and syncs the rows of a shard and returns the name of the file, ""
// for a shard without rows.
func (w *snapshotWriter) writeTable(ctx context.Context, shard int) (name string, err error) {
	var (
		table *sstable.Writer
		key   []byte
		share = w.keyShares(shard)
		// unchecked is the number of bytes written since the room was checked.
		unchecked int64
	)
	defer func() {
		if table != nil {
			err = errors.Join(err, table.Close())
		}
	}()
	err = ReadRows(w.from, shard, w.hurry, func(first uint64, row []byte) (err error) {
		if table == nil {
			name = w.fs.PathJoin(w.staging, fmt.Sprintf("%04d.sst", shard))
			if table, err = w.create(ctx, name); err != nil {
				return err
			}
		}
		key = appendRowKey(key[:0], w.info.Generation, first)
		sum := SealRow(key, row)
		w.info.Shards[shard].add(first, row[RowSumBytes:], sum)
		w.progress.add(int64(len(row)-RowSumBytes), share(first))
		if err := table.Set(key, row); err != nil {
			return err
		}
		if unchecked += int64(len(row)); unchecked >= roomEvery {
			unchecked = 0
			if err := CheckRoom(w.fs, w.staging, 0, w.reserve); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	return name, err
}

// create creates a table.
func (w *snapshotWriter) create(ctx context.Context, name string) (*sstable.Writer, error) {
	file, err := w.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	file = vfs.NewSyncingFile(file, vfs.SyncingFileOptions{BytesPerSync: syncEvery})
	writable := cancellableTable{objstorageprovider.NewFileWritable(file), ctx}
	return sstable.NewWriter(writable, w.store.tableOptions()), nil
}

// A cancellableTable is not synced if its ctx has ended.
type cancellableTable struct {
	objstorage.Writable
	ctx context.Context
}

// Finish implements objstorage.Writable.
func (g cancellableTable) Finish() error {
	if err := g.ctx.Err(); err != nil {
		g.Abort()
		return err
	}
	return g.Writable.Finish()
}

// keyShares returns a function that estimates the fraction of all keys between a hash of
// the shard and the hash of its previous call, assuming that hashes are uniform.
func (w *snapshotWriter) keyShares(shard int) func(first uint64) float64 {
	last := math.Ldexp(float64(shard)/float64(w.from.Shards()), 64)
	return func(first uint64) float64 {
		share := math.Ldexp(float64(first)-last, -64)
		last = float64(first)
		return share
	}
}

// inParallel calls do for 0 to n-1 in order, with at most atOnce calls at a time. After an
// error it starts no more calls, cancels the running calls, waits for them, and returns the
// error.
func inParallel(ctx context.Context, n, atOnce int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		next    atomic.Int64
		workers sync.WaitGroup
	)
	for range min(n, atOnce) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}
