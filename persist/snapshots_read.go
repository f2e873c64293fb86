package persist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/internal/fatal"
)

// Load passes the blocks of a snapshot to a sink, with the given number of shards at
// once, and verifies all checksums and totals. It changes no file. progress may be nil.
//
// After an error the sink holds a part of the snapshot, and its state must be discarded.
// If the snapshot is damaged the error is a *CorruptError. Blocks passed to the sink are
// always intact.
func (s *Snapshots) Load(ctx context.Context, info Info, to BlockSink, workers int, progress Progress) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.withStore(forReading, func(store *store) error {
		r := snapshotReader{
			store: store, info: info, to: to,
			progress: &snapshotProgress{report: progress, keys: info.Keys},
		}
		return r.read(ctx, workers)
	})
	if err != nil {
		return oneLine{fmt.Errorf("load snapshot %d from %s: %w", info.Generation, s.dir, err)}
	}
	return nil
}

// CheckSnapshots verifies all snapshots in a directory that no process has open, for example a
// backup. It writes nothing. It returns the intact snapshots, the newest first, and an error for
// the damaged snapshots. A snapshot is not intact if check returns an error for one of its
// blocks.
func CheckSnapshots(ctx context.Context, fsys vfs.FS, dir string, o SnapshotOptions, workers int,
	check func(block []byte) error) ([]Info, error) {
	s := newSnapshots(fsys, dir, o)
	all, err := s.All()
	var good []Info
	for _, info := range all {
		if bad := s.Load(ctx, info, blockCheck(check), workers, nil); bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		good = append(good, info)
	}
	return good, err
}

// blockCheck checks blocks and discards them.
type blockCheck func(block []byte) error

// Load calls c.
func (c blockCheck) Load(block []byte) error { return c(block) }

// A snapshotReader reads the rows of a generation.
type snapshotReader struct {
	store    *store
	info     Info
	to       BlockSink
	tables   []table // that hold the rows
	progress *snapshotProgress
}

// read reads all rows, shard by shard.
func (r *snapshotReader) read(ctx context.Context, workers int) error {
	tables, err := r.store.tables()
	if err != nil {
		return r.store.wrap(recordWhat, err)
	}
	r.tables = tables[r.info.Generation]
	err = inParallel(ctx, len(r.info.Shards), max(1, workers), func(ctx context.Context, shard int) error {
		err := r.store.do(func() error { return r.readShard(ctx, shard) })
		if err != nil {
			return fmt.Errorf("shard %d: %w", shard, err)
		}
		return nil
	})
	if err == nil {
		r.progress.done()
	}
	return err
}

// bounds returns the key range of a shard's rows: from its first row, or the start of the
// generation for the first shard, to the first row of the next shard. It skips shards
// without rows.
func (r *snapshotReader) bounds(shard int) (from, to []byte) {
	from, to = generationBounds(r.info.Generation, r.info.Generation)
	for n, other := range r.info.Shards {
		switch {
		case other.Rows == 0:
		case n < shard:
			from = appendRowKey(nil, r.info.Generation, r.info.Shards[shard].First)
		case n > shard:
			return from, appendRowKey(nil, r.info.Generation, other.First)
		}
	}
	return from, to
}

// readShard reads the rows of a shard and compares the totals with the record.
func (r *snapshotReader) readShard(ctx context.Context, shard int) (err error) {
	want := r.info.Shards[shard]
	if want.Rows == 0 {
		return nil
	}
	from, to := r.bounds(shard)
	rows, err := r.store.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return r.store.wrap(recordWhat, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	got := ShardInfo{}
	for ok := rows.First(); ok; ok = rows.Next() {
		value, err := rows.ValueAndErr()
		if err != nil {
			return r.store.wrap(recordWhat, err)
		}
		block, err := got.read(rows.Key(), value)
		if err != nil {
			return r.corrupt(rows.Key(), err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.load(block); err != nil {
			return fmt.Errorf("load a block: %w", err)
		}
		r.progress.add(int64(len(block)), 1/float64(r.info.Rows))
	}
	if err := rows.Error(); err != nil {
		return r.store.wrap(recordWhat, err)
	}
	if got != want {
		return r.corrupt(from, fmt.Errorf("%d rows, %d bytes, sum %08x instead of %d, %d, %08x",
			got.Rows, got.Bytes, got.Sum, want.Rows, want.Bytes, want.Sum))
	}
	return nil
}

// load passes a block to the sink. A panic of the sink, unlike a panic of Pebble, ends the
// process, because the engine may hold locks.
func (r *snapshotReader) load(block []byte) error {
	defer fatal.OnPanic()
	return r.to.Load(block)
}

// corrupt returns an error that names the file with the row of a key.
func (r *snapshotReader) corrupt(key []byte, err error) error {
	e := &CorruptError{What: recordWhat, File: r.store.dir, Err: err}
	for _, table := range r.tables {
		if bytes.Compare(table.first, key) <= 0 && bytes.Compare(key, table.last) <= 0 {
			e.File = r.store.fs.PathJoin(r.store.dir, table.name)
		}
	}
	return e
}

// dropDamaged drops all damaged snapshots.
func dropDamaged(fsys vfs.FS, dir string, good []Info) error {
	s, err := OpenSnapshots(fsys, dir, SnapshotOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := s.generations()
	if err != nil {
		return err
	}
	for _, generation := range all {
		isGood := slices.ContainsFunc(good, func(info Info) bool { return info.Generation == generation })
		if isGood {
			continue
		}
		if err := s.Drop(context.Background(), generation); err != nil {
			return err
		}
	}
	return nil
}
