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

	"limitsrv/internal/testing/testwait"
)

// fileDamages are deterministic damages of a file.
var fileDamages = []struct {
	name string
	do   func(data []byte) []byte // nil: the file is removed
}{
	{"missing", nil},
	{"empty", func([]byte) []byte { return nil }},
	{"short", func(data []byte) []byte { return data[:len(data)/2] }},
	{"short by a byte", func(data []byte) []byte { return data[:max(0, len(data)-1)] }},
	{"junk at its head", func(data []byte) []byte { copy(data, junk(100)); return data }},
	{"junk", func(data []byte) []byte { return junk(len(data)) }},
	{"junk of 100 bytes", func([]byte) []byte { return junk(100) }},
	{"a flipped bit in the middle", func(data []byte) []byte { return flipAt(data, len(data)/2) }},
	{"a flipped bit at its end", func(data []byte) []byte { return flipAt(data, len(data)-1) }},
	{"longer", func(data []byte) []byte { return append(data, junk(100)...) }},
	{"zeros appended", func(data []byte) []byte { return append(data, make([]byte, 100)...) }},
}

// junk returns n bytes, without zeros.
func junk(n int) []byte { return bytes.Repeat([]byte("limitsrv? "), n/10+1)[:n] }

func flipAt(data []byte, at int) []byte {
	if len(data) > 0 {
		data[at] ^= 4
	}
	return data
}

// matrixDirs are data directories as processes leave them: a snapshot, a log of several
// segments after it, and a backup.
var matrixDirs = []struct {
	name string
	end  func(t *testing.T, s *Store, dir string) (left string)
	boot string // empty: the boot that created it
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

// TestEachFile damages each file of a directory on the operating system's file system in
// each way. Then either it opens with the exact state; or the end of the log is missing,
// and that is reported; or it is rejected with a remedy, and Repair makes it usable or
// names a remedy.
func TestEachFile(t *testing.T) {
	testwait.Long(t)
	for i, from := range matrixDirs {
		t.Run(from.name, func(t *testing.T) {
			t.Parallel()
			m := &damageMatrix{t: t, clock: newTestClock(), boot: from.boot, policy: []Policy{Never, EverySecond, Always}[i]}
			made := filepath.Join(t.TempDir(), "made")
			m.dir = from.end(t, m.newStore(made), made)
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
				wounds := fileDamages
				switch {
				case strings.HasPrefix(name, backupsDir): // a start ignores them
					wounds = wounds[:1]
				case from.boot != "" && !strings.HasPrefix(name, logPrefix): // the boot makes no difference to them
					wounds = nil
				}
				for _, w := range wounds {
					m.checkDamage(name, w.name, w.do)
				}
			}
			t.Logf("%d files: %d opened right, %d without their end and reported it, %d rejected and repaired", len(files),
				m.right, m.dropped, m.repaired)
		})
	}
}

type damageMatrix struct {
	t       *testing.T
	policy  Policy
	boot    string
	dir     string
	history history
	clock   *testClock

	right, dropped, repaired int
}

func (m *damageMatrix) options(dir string, log *strings.Builder) Options {
	return Options{
		Dir: dir, Policy: m.policy, Clock: m.clock, SegmentBytes: 8 << 10,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
}

// newStore returns a Store with a snapshot, a log and a backup.
func (m *damageMatrix) newStore(dir string) *Store {
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

// checkDamage damages a file of a copy.
func (m *damageMatrix) checkDamage(name, how string, do func([]byte) []byte) {
	t, dir := m.t, m.t.TempDir()
	defer os.RemoveAll(dir)
	copyDir(t, dir, m.dir)
	if m.boot != "" {
		if err := writeBoot(vfs.Default, dir, m.boot); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, name)
	if err := damageFile(path, do); err != nil {
		t.Fatal(err)
	}
	var said, log strings.Builder
	say := func(line string) { said.WriteString(line + "\n") }
	o := m.options(dir, &log)
	checked := Check(nil, dir, o.Engine.Commands, say)
	kept, err := m.countKept(o)
	reported := strings.Contains(log.String(), "level=WARN")
	switch {
	case errors.As(err, new(*wrongState)):
		t.Errorf("%s, %s: %v", name, how, err)
	case err == nil && kept == len(m.history):
		m.right++
	case err == nil && reported && (checked == nil || errors.Is(checked, ErrDrops)):
		m.dropped++
	case err == nil && isShortTail(name, how):
		m.dropped++ // as if the process had been killed earlier
	case err == nil:
		t.Errorf("%s, %s: it opens with %d batches of %d, log\n%s\ncheck: %v\n%s", name, how, kept, len(m.history), &log,
			checked, &said)
	case !errors.Is(checked, ErrDamaged):
		t.Errorf("%s, %s: it is rejected with %v, check returns %v\n%s", name, how, err, checked, &said)
	case !strings.Contains(err.Error(), "check --repair") && !strings.Contains(err.Error(), "use an"):
		t.Errorf("%s, %s: it is rejected with %v, which names no remedy", name, how, err)
	default:
		m.checkRepair(o, name, how, err)
	}
}

// countKept starts a Store and returns the number of batches of the history that it has.
func (m *damageMatrix) countKept(o Options) (kept int, err error) {
	s, err := openRecovered(o)
	if err != nil {
		return 0, err
	}
	if kept, err = m.history.kept(s); err != nil {
		err = &wrongState{err}
	}
	return kept, errors.Join(err, s.Close(context.Background(), SaveNever))
}

// isShortTail reports whether a file lost its end, or all, without a trace: that is
// possible for the segment that was written last.
func isShortTail(name, how string) bool {
	return strings.HasSuffix(name, ".wal") && (strings.HasPrefix(how, "short") || how == "empty")
}

func (m *damageMatrix) checkRepair(o Options, name, how string, rejected error) {
	t := m.t
	var asked strings.Builder
	err := Repair(nil, o.Dir, o.Engine.Commands, func(string) {},
		func(question string) bool { asked.WriteString(question + "\n"); return true })
	if err == nil {
		err = Check(nil, o.Dir, o.Engine.Commands, func(string) {})
	}
	if err == nil {
		_, err = m.countKept(o)
	}
	if err != nil {
		t.Errorf("%s, %s: it is rejected with %v, and after repair, which asks\n%s%v", name, how, rejected, &asked, err)
		return
	}
	m.repaired++
}

func damageFile(path string, do func([]byte) []byte) error {
	if do == nil {
		return os.Remove(path)
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, do(data), 0o600)
	}
	return err
}
