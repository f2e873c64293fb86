package persist

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/internal/testing/testwait"
)

func TestOpenDir(t *testing.T) {
	dir := t.TempDir() + "/a/data"
	first, err := OpenDir(vfs.Default, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.ID) != 32 || first.Seed == (Seed{}) || first.Created.IsZero() {
		t.Errorf("OpenDir() made %+v", first.Identity)
	}
	if _, err := OpenDir(vfs.Default, dir); err == nil || !strings.Contains(err.Error(), dir+" is in use") {
		t.Errorf("OpenDir() of a directory in use = %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := OpenDir(vfs.Default, dir)
	if err != nil {
		t.Fatal(err)
	}
	if second.Identity != first.Identity {
		t.Errorf("OpenDir() again = %+v, want %+v", second.Identity, first.Identity)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third, err := OpenDir(vfs.Default, dir+"2")
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	if third.ID == first.ID || third.Seed == first.Seed {
		t.Errorf("two directories have the identity %+v", third.Identity)
	}
}

// put writes a file.
func put(t *testing.T, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	if err := WriteSynced(fsys, name, data); err != nil {
		t.Fatal(err)
	}
}

func TestOpenDirRejects(t *testing.T) {
	newer, err := seal(identityWhat, identityFormat+1, struct{ Unknown int }{1})
	if err != nil {
		t.Fatal(err)
	}
	other, err := seal("something else", 1, Identity{})
	if err != nil {
		t.Fatal(err)
	}
	shortSeed, err := seal(identityWhat, 1, map[string]string{"seed": "1234"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, file string
		data       []byte
		want       string // in the error; empty: no error
		corrupt    bool
	}{
		{"a foreign directory", "notes.txt", nil, "it was not created by limitsrv", false},
		{"a log without an identity", "log-1", nil, "it is missing, but found log-1", true},
		{"a crash during creation", identityName + suffixTemporary, []byte("half"), "", false},
		{"only a lock file", lockName, nil, "", false},
		{"the root of a file system", "lost+found", nil, "", false},
		{"a newer format", identityName, newer, "has format 2, and this limitsrv supports formats up to 1", false},
		{"another kind of sealed file", identityName, other, "its first line is", true},
		{"an empty identity", identityName, nil, "checksum", true},
		{"an identity that is too long", identityName, make([]byte, maxSealed+100), "checksum", true},
		{"a seed that is too short", identityName, shortSeed, "32 hexadecimal digits", true},
	} {
		fsys := vfs.NewMem()
		if err := MakeDir(fsys, "/data"); err != nil {
			t.Fatal(err)
		}
		put(t, fsys, "/data/"+tt.file, tt.data)
		dir, err := OpenDir(fsys, "/data")
		var corrupt *CorruptError
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: OpenDir() = %v, want %q", tt.name, err, tt.want)
		case errors.As(err, &corrupt) != tt.corrupt:
			t.Errorf("%s: OpenDir() = %T", tt.name, err)
		}
		if err == nil {
			dir.Close()
		}
		// A rejected directory must be unlocked.
		if lock, err := fsys.Lock("/data/" + lockName); err != nil {
			t.Errorf("%s: it is still locked: %v", tt.name, err)
		} else {
			lock.Close()
		}
	}
}

func TestOpenDirKeepsForeignFiles(t *testing.T) {
	fsys := vfs.NewMem()
	if err := MakeDir(fsys, "/home"); err != nil {
		t.Fatal(err)
	}
	put(t, fsys, "/home/notes.txt", nil)
	if _, err := OpenDir(fsys, "/home"); err == nil {
		t.Error("a foreign directory was accepted")
	}
	if names, err := fsys.List("/home"); len(names) != 1 || err != nil {
		t.Errorf("it changed the directory to %q, %v", names, err)
	}
}

// lateFS is a disk where another process creates a file just before the lock.
type lateFS struct{ vfs.FS }

func (l lateFS) Lock(name string) (io.Closer, error) {
	if err := WriteSynced(l.FS, l.PathDir(name)+"/notes.txt", nil); err != nil {
		return nil, err
	}
	return l.FS.Lock(name)
}

func TestOpenDirChecksAgain(t *testing.T) {
	if _, err := OpenDir(lateFS{vfs.NewMem()}, "/data"); err == nil ||
		!strings.Contains(err.Error(), "not created by limitsrv") {
		t.Errorf("OpenDir() = %v", err)
	}
}

// After a power failure at any point the next start is either the first start or has the
// same identity.
func TestOpenDirCrash(t *testing.T) {
	seed := testwait.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	made := 0
	for n := 0; ; n++ {
		disk := vfs.NewCrashableMem()
		crash := &crashFS{FS: disk, left: n, percent: random.IntN(101), random: random}
		_, err := OpenDir(crash, "/var/data")
		if crash.after == nil {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if err == nil {
			t.Fatalf("seed %d, crash at %d: OpenDir() returned nil", seed, n)
		}
		first, err := OpenDir(crash.after, "/var/data")
		if err != nil {
			t.Fatalf("seed %d, crash at %d: %v", seed, n, err)
		}
		first.Close()
		made++
	}
	if made < 8 {
		t.Errorf("only %d crashes", made)
	}
	disk := vfs.NewCrashableMem()
	dir, err := OpenDir(disk, "/var/data")
	if err != nil {
		t.Fatal(err)
	}
	after := disk.CrashClone(vfs.CrashCloneCfg{})
	again, err := OpenDir(after, "/var/data")
	if err != nil || again.Identity != dir.Identity {
		t.Errorf("after a crash OpenDir() = %+v, %v, want %+v", again, err, dir.Identity)
	}
}

func TestSealedDamage(t *testing.T) {
	want := Identity{ID: "0123", Seed: Seed{1, 2, 3}}
	data, err := seal(identityWhat, 1, want)
	if err != nil {
		t.Fatal(err)
	}
	var got Identity
	if format, err := unseal(data, identityWhat, 1, &got); format != 1 || err != nil || got != want {
		t.Fatalf("unseal() = %+v, %d, %v", got, format, err)
	}
	for i := range data {
		for bit := range 8 {
			bad := bytes.Clone(data)
			bad[i] ^= 1 << bit
			if _, err := unseal(bad, identityWhat, 1, &got); err == nil {
				t.Errorf("flipping bit %d of byte %d is not detected", bit, i)
			}
		}
		if _, err := unseal(data[:i], identityWhat, 1, &got); err == nil {
			t.Errorf("a file cut to %d bytes is read", i)
		}
	}
}

func FuzzUnseal(f *testing.F) {
	good, err := seal(identityWhat, 1, Identity{ID: "0123"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("crc32c 00000000\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got Identity
		if _, err := unseal(data, identityWhat, 1, &got); err != nil {
			return
		}
		data = bytes.Clone(data)
		data[0] ^= 1
		if _, err := unseal(data, identityWhat, 1, &got); err == nil {
			t.Errorf("%q is accepted", data)
		}
	})
}

func TestReadSealedMissing(t *testing.T) {
	if err := ReadSealed(vfs.NewMem(), "/IDENTITY", identityWhat, 1, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadSealed() of no file = %v", err)
	}
}
