package persist

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A record is the sealed file that turns a generation of rows into a snapshot.
const (
	recordPrefix = "SNAPSHOT-"
	recordWhat   = "snapshot"
	// recordFormat must be raised with any change in records, rows, or the format of the
	// store that an older limitsrv cannot read.
	recordFormat = 1
)

func recordName(generation uint64) string { return fmt.Sprintf("%s%08d", recordPrefix, generation) }

// generations returns the generations with a record, readable or not, the newest first.
func (s *Snapshots) generations() ([]uint64, error) {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	var all []uint64
	for _, name := range names {
		number, ok := strings.CutPrefix(name, recordPrefix)
		if !ok {
			continue
		}
		if generation, err := strconv.ParseUint(number, 10, 64); err == nil && name == recordName(generation) {
			all = append(all, generation)
		}
	}
	slices.SortFunc(all, func(a, b uint64) int { return cmp.Compare(b, a) })
	return all, nil
}

// readRecord reads and verifies the record of a snapshot.
func (s *Snapshots) readRecord(generation uint64) (Info, error) {
	var (
		info Info
		name = s.fs.PathJoin(s.dir, recordName(generation))
	)
	err := ReadSealed(s.fs, name, recordWhat, recordFormat, &info)
	if err == nil {
		if err = info.check(generation); err != nil {
			err = &CorruptError{What: recordWhat, File: name, Err: err}
		}
	}
	if err != nil {
		return Info{}, fmt.Errorf("read the record of snapshot %d: %w", generation, err)
	}
	return info, nil
}

// refuseNewer returns an error if a newer limitsrv wrote one of the snapshots.
func (s *Snapshots) refuseNewer(generations []uint64) error {
	for _, generation := range generations {
		if _, err := s.readRecord(generation); errors.As(err, new(*NewerError)) {
			return err
		}
	}
	return nil
}

// check returns an error for a record that is inconsistent.
func (i *Info) check(generation uint64) error {
	if i.Generation != generation {
		return fmt.Errorf("it belongs to snapshot %d instead of %d", i.Generation, generation)
	}
	var rows, bytes int64
	var next uint64
	for n, shard := range i.Shards {
		if shard.Rows > 0 && shard.First < next {
			return fmt.Errorf("shard %d starts before the previous one", n)
		}
		next = max(next, shard.First)
		rows, bytes = rows+shard.Rows, bytes+shard.Bytes
	}
	if rows != i.Rows || bytes != i.Bytes || i.Keys < 0 {
		return fmt.Errorf("shards have %d rows and %d bytes, totals are %d and %d, %d keys", rows, bytes, i.Rows, i.Bytes,
			i.Keys)
	}
	return nil
}

// writeRecord turns a generation of rows into a snapshot. After an error the snapshot may
// or may not exist; reading the directory again shows it.
func (s *Snapshots) writeRecord(info Info) error {
	err := WriteSealed(s.fs, s.dir, recordName(info.Generation), recordWhat, recordFormat, info)
	if err != nil {
		return fmt.Errorf("write the record of snapshot %d: %w", info.Generation, err)
	}
	return nil
}

// removeRecords removes records, so that their rows are ignored.
func (s *Snapshots) removeRecords(generations []uint64) error {
	for _, generation := range generations {
		if err := removeIfThere(s.fs, s.fs.PathJoin(s.dir, recordName(generation))); err != nil {
			return fmt.Errorf("remove the record of snapshot %d: %w", generation, err)
		}
	}
	return syncDir(s.fs, s.dir)
}
