package persist

import (
	"fmt"
	"strconv"
	"strings"
)

// The logs of a directory are numbered, each in a directory of its own. There is
// one, but while a failed one is being replaced.
const logPrefix = "log-"

func logName(number int) string { return fmt.Sprintf("%s%06d", logPrefix, number) }

// logNumber is the number in a name that logName made, 0 for any other.
func logNumber(name string) int {
	digits, ok := strings.CutPrefix(name, logPrefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || logName(n) != name {
		return 0
	}
	return n
}

// openLog opens the log of a name, or makes one, with what the Store's options say
// about it besides.
func (s *Store) openLog(name string, o LogOptions) (*Log, error) {
	o.Policy, o.SegmentBytes = s.o.Policy, s.o.SegmentBytes
	return OpenLog(s.o.FS, s.path(name), o)
}

func (s *Store) path(elem ...string) string {
	return s.o.FS.PathJoin(append([]string{s.o.Dir}, elem...)...)
}

// logNames are the logs that there are.
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

// shut closes a failed log: the room of its files is not free before. It may hang
// with the disk.
func (s *Store) shut(log *Log) {
	if err := log.Close(); err != nil {
		s.o.Logger.Debug("closed a failed log", "error", err)
	}
}

// discard closes a log and removes it.
func (s *Store) discard(log *Log) {
	s.shut(log)
	s.remove(log.Name())
}

func (s *Store) remove(name string) {
	if err := s.o.FS.RemoveAll(s.path(name)); err != nil {
		s.o.Logger.Warn("an old log could not be removed", "path", s.path(name), "error", err)
	}
}

// keepLog removes all logs but one.
func (s *Store) keepLog(name string) {
	names, err := s.logNames()
	if err != nil {
		s.o.Logger.Warn("old logs could not be removed", "error", err)
		return
	}
	for _, other := range names {
		if other != name {
			s.remove(other)
		}
	}
}
