package persist

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func bareStore() *store {
	return &store{log: slog.New(slog.DiscardHandler), failed: make(chan struct{})}
}

func TestStoreDo(t *testing.T) {
	cause := errors.New("the cause")
	for _, tt := range []struct {
		name   string
		work   func(s *store) error
		want   string
		failed bool
	}{
		{"successful work", func(*store) error { return nil }, "", false},
		{"an error", func(*store) error { return cause }, "the cause", false},
		{"a panic", func(*store) error { panic(cause) }, "panic: the cause", true},
		{"the end of the process", func(s *store) error {
			storeLogger{s}.Fatalf("no way on: %v", cause)
			t.Error("Fatalf returned")
			return nil
		}, "no way on: the cause", true},
		{"the end of the process in another goroutine", func(s *store) error {
			go storeLogger{s}.Fatalf("no way on: %v", cause)
			<-s.failed
			return errors.New("too late")
		}, "no way on: the cause", true},
	} {
		for range 20 { // either of two goroutines may be the first
			checkDo(t, tt.name, tt.work, tt.want, tt.failed, cause)
		}
	}
}

func checkDo(t *testing.T, name string, work func(*store) error, want string, failed bool, cause error) {
	t.Helper()
	s := bareStore()
	err := s.do(func() error { return work(s) })
	switch {
	case want == "" && err != nil, want != "" && (err == nil || err.Error() != want):
		t.Errorf("%s: do() = %v, want %q", name, err, want)
	case err != nil && !errors.Is(err, cause):
		t.Errorf("%s: do() = %#v, want it to wrap the cause", name, err)
	}
	if again := s.do(func() error { return nil }); (again != nil) != failed {
		t.Errorf("%s: then do() = %v", name, again)
	}
}

// do returns after failureGrace even if work does not return.
func TestStoreDoStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stuck := bareStore(), make(chan struct{})
		err := s.do(func() error {
			go storeLogger{s}.Fatalf("in the background")
			<-stuck
			return nil
		})
		if err == nil || err.Error() != "in the background" {
			t.Errorf("do() = %v", err)
		}
		close(stuck)
	})
}

func TestTrackedFSAbandoned(t *testing.T) {
	dir := t.TempDir()
	fsys := &trackedFS{FS: vfs.Default}
	file, err := fsys.Create(dir+"/a", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := fsys.Create(dir+"/b", vfs.WriteCategoryUnspecified)
	if err != nil || closed.Close() != nil {
		t.Fatal(err)
	}
	if len(fsys.files) != 1 {
		t.Errorf("%d files are open", len(fsys.files))
	}
	fsys.abandon()
	if _, err := file.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Write() = %v", err)
	}
	_, create := fsys.Create(dir+"/c", vfs.WriteCategoryUnspecified)
	_, reuse := fsys.ReuseForWrite(dir+"/a", dir+"/c", vfs.WriteCategoryUnspecified)
	_, openReadWrite := fsys.OpenReadWrite(dir+"/a", vfs.WriteCategoryUnspecified)
	_, openDir := fsys.OpenDir(dir)
	_, open := fsys.Open(dir + "/a")
	for name, err := range map[string]error{
		"Create": create, "ReuseForWrite": reuse, "OpenReadWrite": openReadWrite, "OpenDir": openDir, "Open": open,
		"Link": fsys.Link(dir+"/a", dir+"/c"), "Rename": fsys.Rename(dir+"/a", dir+"/c"),
		"Remove": fsys.Remove(dir + "/a"), "RemoveAll": fsys.RemoveAll(dir), "MkdirAll": fsys.MkdirAll(dir+"/d", 0o700),
	} {
		if !errors.Is(err, errAbandoned) {
			t.Errorf("%s() = %v", name, err)
		}
	}
	if names, err := vfs.Default.List(dir); len(names) != 2 || err != nil {
		t.Errorf("there are %q, %v", names, err)
	}
}
