package persist

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestRepairFromTheLog damages the only snapshot of a directory with a complete log:
// Repair must restore everything.
func TestRepairFromTheLog(t *testing.T) {
	o := testOptions(t, vfs.NewMem(), EverySecond)
	o.SegmentBytes = 1 << 20 // large enough for one segment
	rng, counts := rand.New(rand.NewPCG(3, 3)), newCounters()
	s := start(t, o)
	takeSome(t, s, counts, rng, 100)
	end(t, s, true)
	damageTable(t, o.FS, o.FS.PathJoin(testDir, snapshotsDir, storeName))
	var found []string
	say := func(line string) { found = append(found, line) }
	if err := Check(o.FS, testDir, o.Engine.Commands, say); err != ErrDamaged {
		t.Fatalf("Check returns %v, and reports %q", err, found)
	}
	for _, line := range found {
		if strings.Contains(line, "\n") || strings.Contains(line, pebbleDetail) {
			t.Errorf("Check reports %q, want one line", line)
		}
	}
	var asked []string
	err := Repair(o.FS, testDir, o.Engine.Commands, say, func(question string) bool {
		asked = append(asked, question)
		return true
	})
	if err != nil || len(asked) != 1 || !strings.Contains(asked[0], "Nothing is lost") {
		t.Fatalf("Repair returns %v and asks %q", err, asked)
	}
	s = start(t, o)
	defer end(t, s, false)
	checkCounts(t, s, counts.copy(), true)
}

// damageTable flips a bit of a row in the first table of a Pebble store.
func damageTable(t *testing.T, fs vfs.FS, dir string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		file, err := fs.OpenReadWrite(fs.PathJoin(dir, name), vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		var b [1]byte
		if _, err := file.ReadAt(b[:], 40); err != nil {
			t.Fatal(err)
		}
		b[0] ^= 4
		if _, err := file.WriteAt(b[:], 40); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no table found")
}

// TestVerifyRefusesForeignDirectory: a directory that limitsrv did not create is not damaged, and a
// repair writes nothing to it.
func TestVerifyRefusesForeignDirectory(t *testing.T) {
	fsys := vfs.NewMem()
	if err := MakeDir(fsys, testDir); err != nil {
		t.Fatal(err)
	}
	put(t, fsys, testDir+"/notes.txt", nil)
	say := func(string) {}
	for name, err := range map[string]error{
		"Check":  Check(fsys, testDir, nil, say),
		"Repair": Repair(fsys, testDir, nil, say, func(string) bool { return true }),
	} {
		if err == nil || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "it was not created by limitsrv") {
			t.Errorf("%s() of a foreign directory = %v", name, err)
		}
	}
	if names, err := fsys.List(testDir); err != nil || len(names) != 1 {
		t.Errorf("the directory has %v, error %v", names, err)
	}
}
