package persist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"limitsrv/internal/testing/testwait"
)

// contents holds the files of a directory.
type contents map[string][]byte

func readDir(t *testing.T, fs vfs.FS, dir string) contents {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := contents{}
	for _, name := range names {
		file, err := fs.Open(fs.PathJoin(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(file)
		if err = errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		all[name] = b
	}
	return all
}

// write returns a new file system with the files.
func (c contents) write(t *testing.T) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("/log", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, b := range c {
		file, err := fs.Create("/log/"+name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.Write(bytes.Clone(b))
		if err = errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return fs
}

// names returns the names of the files in order.
func (c contents) names() (names []string) {
	for name := range c {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// tailName returns the name of the last segment.
func (c contents) tailName() string {
	names := c.names()
	return names[len(names)-2] // before META
}

// madeLog returns the files of a log with entries 1 to last. Those up to synced were
// known to be on disk when the last was written.
func madeLog(t *testing.T, policy Policy, last, synced uint64) contents {
	t.Helper()
	fs := vfs.NewMem()
	l := openLog(t, fs, "/log", LogOptions{Policy: policy, syncEvery: 1 << 40})
	for l.Last() < last {
		mustAppend(t, l, payload(l.Last()+1))
		if l.Last() == synced {
			if err := l.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	closeLog(t, l)
	made := readDir(t, fs, "/log")
	if len(made) < 4 {
		t.Fatalf("the log has %d files, want at least 4", len(made))
	}
	return made
}

// Whether the machine went down since a log was last open.
const (
	sameBoot    = true
	anotherBoot = false
)

// checkedLog returns the error of CheckLog.
func checkedLog(fs vfs.FS, dir string, same bool) error {
	_, err := CheckLog(fs, dir, same, func(string) {})
	return err
}

// outcome opens a log and reads it. All entries that it finds must be correct and in
// their places.
func outcome(t *testing.T, fs vfs.FS, what string) (last uint64, err error) {
	t.Helper()
	last, _, err = outcomeAfter(t, fs, what, anotherBoot)
	return last, err
}

// outcomeAfter is outcome in the same boot or in another boot; it also returns the dropped
// end.
func outcomeAfter(t *testing.T, fs vfs.FS, what string, same bool) (last uint64, dropped *Drop, err error) {
	t.Helper()
	l, err := OpenLog(fs, "/log", LogOptions{SegmentBytes: minSegmentBytes, SameBoot: same})
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	next := l.First()
	err = l.Read(next, func(index uint64, data []byte) error {
		if index != next || !reflect.DeepEqual(data, payload(index)) {
			t.Errorf("%s: entry %d is %q, want %d to be %q", what, index, data, next, payload(next))
		}
		next++
		return nil
	})
	return l.Last(), l.Dropped(), err
}

// known reports whether an error reports damage.
func known(err error) bool {
	var corrupt *CorruptError
	var version *NewerError
	return errors.As(err, &corrupt) || errors.As(err, &version)
}

// readOnly fails all writes.
var readOnly = errorfs.InjectorFunc(func(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
		return fmt.Errorf("unexpected write: %v of %s", op.Kind, op.Path)
	}
	return nil
})

// damage damages a file and returns a description. traceless reports that entries after the
// first damage may have left no trace.
func damage(r *rand.Rand, c contents, name string) (how string, traceless bool) {
	b := c[name]
	at := r.IntN(len(b))
	lastEntry := bytes.LastIndex(b, b[26:30]) // the magic of entries, in the head
	switch r.IntN(4) {
	case 0:
		bit := r.IntN(8)
		b[at] ^= 1 << bit
		return fmt.Sprintf("bit %d of byte %d of %s flipped", bit, at, name), false
	case 1:
		n := 1 + r.IntN(min(len(b)-at, 600))
		for i := range n {
			b[at+i] = byte(r.Uint32())
		}
		return fmt.Sprintf("%d bytes of %s from %d on made random", n, name, at), at+n > lastEntry
	case 2:
		n := 1 + r.IntN(min(len(b)-at, 600))
		clear(b[at : at+n])
		return fmt.Sprintf("%d bytes of %s from %d on made 0", n, name, at), at+n > lastEntry
	}
	c[name] = b[:at]
	return fmt.Sprintf("%s cut to %d bytes", name, at), true
}

// TestDamage damages every file in many ways. The log must be rejected, or be correct: only
// entries at the end are missing, and only entries that a power failure may lose.
func TestDamage(t *testing.T) {
	const last = 57
	for _, tt := range []struct {
		policy Policy
		synced uint64
		least  uint64 // entries kept if later entries left a trace; otherwise the log is rejected
	}{
		{Always, 0, last - 1},
		{EverySecond, 54, 54},
		{Never, 0, 48}, // the segments before the tail
	} {
		t.Run(tt.policy.String(), func(t *testing.T) {
			t.Parallel()
			seed := testwait.Seed(t)
			r := rand.New(rand.NewPCG(seed, 0))
			whole := madeLog(t, tt.policy, last, tt.synced)
			opened, cut, rejected := 0, 0, 0
			for round := range 250 {
				c := contents{}
				for name, b := range whole {
					c[name] = bytes.Clone(b)
				}
				name := whole.names()[round%len(whole)]
				how, traceless := damage(r, c, name)
				what := fmt.Sprintf("seed %d, %v, %s", seed, tt.policy, how)
				check := checkedLog(errorfs.Wrap(c.write(t), readOnly), "/log", anotherBoot)
				got, err := outcome(t, c.write(t), what)
				switch {
				case err != nil && !known(err):
					t.Errorf("%s: error %v does not report damage", what, err)
				case (err == nil) != (check == nil):
					t.Errorf("%s: it opens with %v, and check says %v", what, err, check)
				case err != nil:
					rejected++
				case got < tt.least && !(traceless && name == whole.tailName()):
					t.Errorf("%s: it opens with %d entries, want at least %d", what, got, tt.least)
				case got < last:
					cut++
				default:
					opened++
				}
				if err != nil {
					checkRepair(t, c.write(t), what)
				}
			}
			t.Logf("%d opened, %d opened and cut, %d rejected and repaired", opened, cut, rejected)
			if rejected < 100 || cut < 10 {
				t.Errorf("seed %d: %d opened, %d cut, %d rejected: want more of each", seed, opened, cut, rejected)
			}
		})
	}
}

// checkRepair repairs a damaged log and checks that it opens and can be appended to.
func checkRepair(t *testing.T, fs *vfs.MemFS, what string) {
	t.Helper()
	before := readDir(t, fs, "/log")
	asked := ""
	err := repairLog(errorfs.Wrap(fs, readOnly), "/log", func(story string) bool { asked = story; return false })
	if asked == "" && err != nil &&
		(strings.Contains(err.Error(), "version") || strings.Contains(err.Error(), "no segment has a head")) {
		return
	}
	if asked == "" || !known(err) || !reflect.DeepEqual(readDir(t, fs, "/log"), before) {
		t.Errorf("%s: repair without consent asked %q, returned %v, or changed a file", what, asked, err)
	}
	if err := repairLog(fs, "/log", func(string) bool { return true }); err != nil {
		t.Errorf("%s: repair: %v", what, err)
		return
	}
	last, err := outcome(t, fs, what)
	if err != nil {
		t.Errorf("%s: after repair (%s): %v", what, asked, err)
		return
	}
	l := openLog(t, fs, "/log", LogOptions{})
	for range 20 {
		mustAppend(t, l, payload(l.Last()+1))
	}
	closeLog(t, l)
	if got, err := outcome(t, fs, what); err != nil || got != last+20 {
		t.Errorf("%s: after repair (%s) and 20 more: %d entries, %v; want %d", what, asked, got, err, last+20)
	}
}

// frames returns the offsets of the entries' frames in a segment file.
func frames(b []byte) (starts []int) {
	for at := segmentHead; ; at += frameHead {
		n := bytes.Index(b[at:], b[26:30]) // the magic of entries, in the head
		if n < 0 {
			return starts
		}
		at += n
		starts = append(starts, at-frameHead)
	}
}

// TestDamageOfFrames damages whole frames, so that every frame checksum still matches.
func TestDamageOfFrames(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy Policy
		change func(b []byte, starts []int)
		want   uint64 // entries that are kept; 0: the log is rejected
	}{
		{"two entries swapped", Always, func(b []byte, s []int) {
			one, next := b[s[1]:s[2]], b[s[2]:s[3]]
			copy(b[s[1]:], append(bytes.Clone(next), one...))
		}, 0},
		{"a repeated entry", Always, func(b []byte, s []int) { copy(b[s[2]:s[3]], b[s[1]:s[2]]) }, 0},
		{"a zeroed entry", Always, func(b []byte, s []int) { clear(b[s[1]:s[2]]) }, 0},
		{"the last entry zeroed", Always, func(b []byte, s []int) { clear(b[s[4]:s[5]]) }, 4},
		{"a zeroed entry that was never synced", Never, func(b []byte, s []int) { clear(b[s[1]:s[2]]) }, 1},
	} {
		fs := vfs.NewMem()
		l := openLog(t, fs, "/log", LogOptions{Policy: tt.policy, First: 1})
		for i := range byte(5) {
			mustAppend(t, l, []byte{i})
		}
		closeLog(t, l)
		c := readDir(t, fs, "/log")
		name := c.tailName()
		b := c[name]
		starts := append(frames(b), len(b))
		tt.change(b, starts)
		fs = c.write(t)
		l, err := OpenLog(fs, "/log", LogOptions{SegmentBytes: minSegmentBytes})
		if tt.want == 0 {
			if !known(err) {
				t.Errorf("%s: %v, want an error", tt.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		// No part of the removed end may be taken for an entry later.
		for range 2 {
			mustAppend(t, l, []byte{9})
		}
		closeLog(t, l)
		l = openLog(t, fs, "/log", LogOptions{})
		if l.Last() != tt.want+2 {
			t.Errorf("%s: %d entries, want %d and 2 more", tt.name, l.Last(), tt.want)
		}
		closeLog(t, l)
	}
}

func TestReadAhead(t *testing.T) {
	seed := testwait.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	content := make([]byte, 2*readAheadBytes+12345)
	for i := range content {
		content[i] = byte(r.Uint32())
	}
	a := newReadAhead(bytes.NewReader(content), int64(len(content)))
	for i := range 2000 {
		from := r.IntN(len(content) + 100)
		n := r.IntN(100)
		switch {
		case r.IntN(50) == 0:
			n = r.IntN(len(content) + 100)
		case i < 40: // around the end of the first read
			from, n = i%2*readAheadBytes, i
			from = max(0, from-20)
		}
		got, err := a.at(int64(from), n)
		want := content[min(from, len(content)):min(from+n, len(content))]
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %d bytes at %d: got %d, %v; want %d", seed, n, from, len(got), err, len(want))
		}
		if len(got) > 0 && r.IntN(2) == 0 { // read the adjacent bytes
			from += len(got) - 1
			n := 1 + r.IntN(20)
			got, err = a.at(int64(from), n)
			if want := content[from:min(from+n, len(content))]; err != nil || !bytes.Equal(got, want) {
				t.Fatalf("seed %d: %d bytes at %d: got %d, %v; want %d", seed, n, from, len(got), err, len(want))
			}
		}
	}
}

// repairLog repairs a log if explain, called with the loss, agrees; otherwise it returns
// the damage. It does not ask if the log is intact.
func repairLog(fs vfs.FS, dir string, explain func(what string) (proceed bool)) error {
	r, err := planRepair(fs, dir, sameBoot, discardEntries)
	if err != nil || r.damage == nil {
		return err
	}
	if !explain(r.describe()) {
		return r.damage
	}
	return r.perform(fs, dir)
}
