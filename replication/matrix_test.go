package replication

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
	"limitsrv/persist"
	"limitsrv/replication/offline"
)

// fileDamages are kinds of damage to a file; nil: it is removed.
var fileDamages = []struct {
	name string
	do   func(data []byte) []byte
}{
	{"missing", nil},
	{"empty", func([]byte) []byte { return nil }},
	{"short", func(data []byte) []byte { return data[:len(data)/2] }},
	{"junk at its head", func(data []byte) []byte { copy(data, junk(100)); return data }},
	{"junk", func(data []byte) []byte { return junk(len(data)) }},
	{"junk of 100 bytes", func([]byte) []byte { return junk(100) }},
	{"a bit in the middle", func(data []byte) []byte {
		if len(data) > 0 {
			data[len(data)/2] ^= 4
		}
		return data
	}},
	{"longer", func(data []byte) []byte { return append(data, junk(100)...) }},
}

func junk(n int) []byte { return bytes.Repeat([]byte("limitsrv? "), n/10+1)[:n] }

// Each file of a stopped node is damaged in each way. The node then has its complete
// state, or is refused with a remedy, and Check reports damage.
func TestEachFile(t *testing.T) {
	testwait.Long(t)
	t.Parallel()
	_, n := stoppedNode(t)
	whole, err := offline.Inspect(offlineOptions(n.o))
	if err != nil {
		t.Fatal(err)
	}
	files, right, refused := 0, 0, 0
	err = filepath.WalkDir(n.o.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(n.o.Dir, path)
		files++
		for _, w := range fileDamages {
			o := n.o
			o.Dir = t.TempDir()
			if err := errors.Join(os.CopyFS(o.Dir, os.DirFS(n.o.Dir)), wounded(filepath.Join(o.Dir, name), w.do)); err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			checked := offline.Check(o.Dir, nil, func(line string) { said.WriteString(line + "\n") })
			got, err := offline.Inspect(offlineOptions(o))
			got.Servers, whole.Servers = nil, nil
			switch {
			case err == nil && (got.LastIndex != whole.LastIndex || got.Keys != whole.Keys || got.Node != whole.Node):
				t.Errorf("%s, %s: it has %+v, want %+v; check says %v\n%s", name, w.name, got, whole, checked, &said)
			case err == nil:
				right++
			case !errors.Is(checked, persist.ErrDamaged):
				t.Errorf("%s, %s: it is refused with %v, and check says %v\n%s", name, w.name, err, checked, &said)
			case !strings.Contains(err.Error(), "--join"):
				t.Errorf("%s, %s: it is refused with %v, which does not say what to do", name, w.name, err)
			default:
				refused++
			}
		}
		return err
	})
	if err != nil || files < 7 {
		t.Errorf("%d files, %v", files, err)
	}
	t.Logf("%d files: %d right, %d refused", files, right, refused)
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
