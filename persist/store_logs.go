package persist

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/raft-wal/segment"
)

// The logs of a data directory are numbered, each in its own directory. There is one log,
// except while a failed log is being replaced.
const logPrefix = "log-"

func logName(number int) string { return fmt.Sprintf("%s%06d", logPrefix, number) }

// logNumber returns the number in a name made by logName, 0 for any other name.
func logNumber(name string) int {
	digits, ok := strings.CutPrefix(name, logPrefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || logName(n) != name {
		return 0
	}
	return n
}

// openLog opens or creates the log of a name, with the Policy and SegmentBytes of the
// Store.
func (s *Store) openLog(name string, o LogOptions) (*Log, error) {
	o.Policy, o.SegmentBytes = s.o.Policy, s.o.SegmentBytes
	return OpenLog(s.o.FS, s.dir.join(name), o)
}

// logNames returns the names of the existing logs.
func (s *Store) logNames() ([]string, error) {
	all, err := s.o.FS.List(s.o.Dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", s.o.Dir, err)
	}
	var names []string
	for _, name := range all {
		if logNumber(name) > 0 {
			names = append(names, name)
		}
	}
	return names, nil
}

// closeFailed closes a failed log, which releases the space of its files. It may hang
// with the disk.
func (s *Store) closeFailed(log *Log) {
	if err := log.Close(); err != nil {
		s.o.Logger.Debug("closed a failed log", "error", err)
	}
}

// discard closes and removes a log.
func (s *Store) discard(log *Log) {
	s.closeFailed(log)
	s.remove(log.Name())
}

func (s *Store) remove(name string) {
	if err := s.o.FS.RemoveAll(s.dir.join(name)); err != nil {
		s.o.Logger.Warn("could not remove an old log", "path", s.dir.join(name), "error", err)
	}
}

// removeOtherLogs removes all logs except the log of that name.
func (s *Store) removeOtherLogs(name string) {
	names, err := s.logNames()
	if err != nil {
		s.o.Logger.Warn("could not remove old logs", "error", err)
		return
	}
	for _, other := range names {
		if other != name {
			s.remove(other)
		}
	}
}

// fullSegmentBytes returns the size of the full segments of the log after a snapshot, as far
// as it can be read; it is for estimates.
func (s *Store) fullSegmentBytes(info Info) (bytes int64) {
	dir := s.dir.join(info.LogDir)
	state, err := readMeta(s.o.FS, dir)
	if err != nil {
		return 0
	}
	for _, g := range state.Segments[:len(state.Segments)-1] {
		if file, err := s.o.FS.Stat(s.o.FS.PathJoin(dir, segment.FileName(g))); err == nil && g.MaxIndex > info.LogIndex {
			bytes += file.Size()
		}
	}
	return bytes
}
