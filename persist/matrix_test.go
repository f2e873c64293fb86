package persist

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fileWounds are damages of a file, the same each time.
var fileWounds = []struct {
	name string
	do   func(data []byte) []byte // nil: there is no file any more
}{
	{"missing", nil},
	{"empty", func([]byte) []byte { return nil }},
	{"short", func(data []byte) []byte { return data[:len(data)/2] }},
	{"short by a byte", func(data []byte) []byte { return data[:max(0, len(data)-1)] }},
	{"junk at its head", func(data []byte) []byte { copy(data, junk(100)); return data }},
	{"junk", func(data []byte) []byte { return junk(len(data)) }},
	{"junk of 100 bytes", func([]byte) []byte { return junk(100) }},
	{"a bit in the middle", func(data []byte) []byte { return flipAt(data, len(data)/2) }},
	{"a bit at its end", func(data []byte) []byte { return flipAt(data, len(data)-1) }},
	{"longer", func(data []byte) []byte { return append(data, junk(100)...) }},
	{"longer by zeros", func(data []byte) []byte { return append(data, make([]byte, 100)...) }},
}

// junk is n bytes none of which is zero.
func junk(n int) []byte { return bytes.Repeat([]byte("limitsrv? "), n/10+1)[:n] }

func flipAt(data []byte, at int) []byte {
	if len(data) > 0 {
		data[at] ^= 4
	}
	return data
}

// matrixDirs are data directories as processes leave them, with a snapshot, a log of
// several segments behind it, and a backup.
var matrixDirs = []struct {
	name string
	end  func(t *testing.T, s *Store, dir string) (left string)
	boot string // empty: that in which it was made
}{
	{"ended", func(t *testing.T, s *Store, dir string) string { end(t, s, false); return dir }, ""},
	{"killed", killedCopy, ""},
	{"killed, and the machine rebooted", killedCopy, "another"},
}

// killedCopy copies the directory as a kill of the process would leave it.
func killedCopy(t *testing.T, s *Store, dir string) string {
	copied := t.TempDir()
	copyDir(t, copied, dir)
	end(t, s, false)
	return copied
}

func copyDir(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestEachFile damages each file of a directory on the system's own file system in each
// way. Then it opens with exactly what was decided; or it lacks an end, and says so;
// or it is refused with what to do, and Repair makes it one that starts, or says what
// to do.
func TestEachFile(t *testing.T) {
	for i, from := range matrixDirs {
		t.Run(from.name, func(t *testing.T) {
			t.Parallel()
			m := &matrix{t: t, clock: newTestClock(), boot: from.boot, policy: []Policy{Never, EverySecond, Always}[i]}
			made := filepath.Join(t.TempDir(), "made")
			m.dir = from.end(t, m.make(made), made)
			var files []string
			err := filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					name, _ := filepath.Rel(m.dir, path)
					files = append(files, name)
				}
				return err
			})
			if err != nil || len(files) < 15 {
				t.Fatalf("%d files, %v", len(files), err)
			}
			for _, name := range files {
				wounds := fileWounds
				switch {
				case strings.HasPrefix(name, backupsDir): // a start does not look at them
					wounds = wounds[:1]
				case from.boot != "" && !strings.HasPrefix(name, logPrefix): // it is all the same
					wounds = nil
				}
				for _, w := range wounds {
					m.suffer(name, w.name, w.do)
				}
			}
			t.Logf("%d files: %d opened right, %d without an end and said so, %d were refused and repaired", len(files), m.right, m.dropped, m.repaired)
		})
	}
}

type matrix struct {
	t       *testing.T
	policy  Policy
	boot    string
	dir     string
	history history
	clock   *testClock

	right, dropped, repaired int
}

func (m *matrix) options(dir string, log *strings.Builder) Options {
	return Options{
		Dir: dir, Policy: m.policy, Clock: m.clock, SegmentBytes: 8 << 10,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
}

// make is a Store with something of everything.
func (m *matrix) make(dir string) *Store {
	var log strings.Builder
	rng := rand.New(rand.NewPCG(1, 2))
	s := start(m.t, m.options(dir, &log))
	m.history.perform(m.t, s, rng, 60)
	done := make(chan error)
	if err := s.Backup("b", func(_ string, err error) { done <- err }); err != nil {
		m.t.Fatal(err)
	}
	if err := <-done; err != nil {
		m.t.Fatal(err)
	}
	m.history.perform(m.t, s, rng, 60)
	return s
}

// suffer damages a file of a copy.
func (m *matrix) suffer(name, how string, do func([]byte) []byte) {
	t, dir := m.t, m.t.TempDir()
	defer os.RemoveAll(dir)
	copyDir(t, dir, m.dir)
	if m.boot != "" {
		if err := writeBoot(vfs.Default, dir, m.boot); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, name)
	if err := wounded(path, do); err != nil {
		t.Fatal(err)
	}
	var said, log strings.Builder
	say := func(line string) { said.WriteString(line + "\n") }
	o := m.options(dir, &log)
	checked := Check(nil, dir, say)
	kept, err := m.opens(o)
	told := strings.Contains(log.String(), "level=WARN")
	switch {
	case errors.As(err, new(*wrongState)):
		t.Errorf("%s, %s: %v", name, how, err)
	case err == nil && kept == len(m.history):
		m.right++
	case err == nil && told && (checked == nil || errors.Is(checked, ErrDrops)):
		m.dropped++
	case err == nil && isShortTail(name, how):
		m.dropped++ // as if the process had been killed before
	case err == nil:
		t.Errorf("%s, %s: it opens with %d batches of %d, and says\n%s\ncheck: %v\n%s", name, how, kept, len(m.history), &log, checked, &said)
	case !errors.Is(checked, ErrDamaged):
		t.Errorf("%s, %s: it is refused with %v, and check says %v\n%s", name, how, err, checked, &said)
	case !strings.Contains(err.Error(), "check --repair") && !strings.Contains(err.Error(), "give "):
		t.Errorf("%s, %s: it is refused with %v, which does not say what to do", name, how, err)
	default:
		m.repair(o, name, how, err)
	}
}

// opens starts a Store and says how many batches of the history it has.
func (m *matrix) opens(o Options) (kept int, err error) {
	s, err := opened(o)
	if err != nil {
		return 0, err
	}
	if kept, err = m.history.kept(s); err != nil {
		err = &wrongState{err}
	}
	return kept, errors.Join(err, s.Close(context.Background(), SaveNever))
}

// isShortTail says that a file lost an end, or all, of which nothing tells: it is that
// of a segment that was being written.
func isShortTail(name, how string) bool {
	return strings.HasSuffix(name, ".wal") && (strings.HasPrefix(how, "short") || how == "empty")
}

func (m *matrix) repair(o Options, name, how string, refused error) {
	t := m.t
	var asked strings.Builder
	err := Repair(nil, o.Dir, func(string) {}, func(question string) bool { asked.WriteString(question + "\n"); return true })
	if err == nil {
		err = Check(nil, o.Dir, func(string) {})
	}
	if err == nil {
		_, err = m.opens(o)
	}
	if err != nil {
		t.Errorf("%s, %s: it is refused with %v, and after repair, which asks\n%s%v", name, how, refused, &asked, err)
		return
	}
	m.repaired++
}

func wounded(path string, do func([]byte) []byte) error {
	if do == nil {
		return os.Remove(path)
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, do(data), 0o600)
	}
	return err
}
