package persist

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"limitsrv/engine"
)

// Each way to read a log reads a skipped entry as its replacement, and the neighbours as they are.
func TestSkippedEntryIsReplaced(t *testing.T) {
	dir := t.TempDir()
	logDir := filepath.Join(dir, "log")
	log, err := OpenLog(vfs.Default, logDir, LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := log.Append(fmt.Appendf(nil, "entry %d", i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, index := range []uint64{2, 4} {
		s := Skip{FS: vfs.Default, Dir: dir, Log: logDir, State: dir, After: 1, Index: index}
		found, err := s.Find()
		if err != nil || string(found.Entry.Data) != fmt.Sprint("entry ", index) {
			t.Fatalf("entry %d is %q, %v", index, found.Entry.Data, err)
		}
		kept, err := s.Perform(&found, []byte("instead"))
		var keep keptEntry
		if err == nil {
			err = ReadSealed(vfs.Default, kept, keptWhat, keptFormat, &keep)
		}
		if err != nil || keep.Index != index || !bytes.Equal(keep.Data, found.Entry.Data) {
			t.Errorf("%s keeps %+v, %v", kept, keep, err)
		}
	}
	for index, want := range map[uint64]string{1: "the snapshot up to entry 1", 2: "is skipped already",
		6: "ends with entry 5"} {
		s := Skip{FS: vfs.Default, Dir: dir, Log: logDir, State: dir, After: 1, Index: index}
		if _, err := s.Find(); err == nil || !strings.Contains(err.Error(), want) ||
			errors.Is(err, ErrNothingToSkip) == (index == 1) {
			t.Errorf("entry %d: %v, want %q", index, err, want)
		}
	}
	var read, got, offline []string
	if log, err = OpenLog(vfs.Default, logDir, LogOptions{SameBoot: true}); err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	err = errors.Join(log.Read(1, func(_ uint64, data []byte) error {
		read = append(read, string(data))
		return nil
	}), ReadLog(vfs.Default, logDir, func(e *raft.Log) error {
		offline = append(offline, string(e.Data))
		return nil
	}))
	for i := range uint64(5) {
		var e raft.Log
		err = errors.Join(err, log.Raft().GetLog(i+1, &e))
		got = append(got, string(e.Data))
	}
	want := "[entry 1 instead entry 3 instead entry 5]"
	for _, all := range [][]string{read, got, offline} {
		if fmt.Sprint(all) != want || err != nil {
			t.Errorf("read %v, %v, want %s", all, err, want)
		}
	}
	if other := log.Skipped().replace(2, []byte("a later entry")); string(other) != "a later entry" {
		t.Errorf("another entry at the index is read as %q", other)
	}
}

// A description has no key and no argument.
func TestDescribe(t *testing.T) {
	b := &engine.Batch{Level: 1, Ops: []engine.Op{
		{Kind: engine.Take, N: 1, Key: []byte("secret"),
			Params: engine.Params{Alg: engine.Token, Limit: 5, Count: 1, Period: 1e10}},
		{Kind: engine.Flush},
	}}
	for range 10 {
		write(b, 0, scribeAppend, "secret", "secret")
	}
	var e Entry
	e.Append(1e18, b)
	got := Describe(e.Bytes(), scribe{}, nil)
	if want :=
		"2001-09-09T01:46:40Z: take of TOKEN, flush, command 0 with 1 keys, 2 words of 12 bytes,"; !strings.HasPrefix(got,
		want) ||
		!strings.Contains(got, "and 4 more") || strings.Contains(got, "secret") {
		t.Errorf("%s, want %s", got, want)
	}
	if got = Describe(e.Bytes()[:e.Len()-1], scribe{}, nil); !strings.Contains(got, "the rest can't be read") {
		t.Errorf("of a short entry: %s", got)
	}
}

// An entry that can not be read keeps a server from starting until it is skipped; then the entries after it
// are there.
func TestSkippedUnreadableEntry(t *testing.T) {
	o := testOptions(t, vfs.NewMem(), Always)
	s := start(t, o)
	take := func(key string) *engine.Batch {
		return &engine.Batch{Ops: []engine.Op{{Kind: engine.Take, N: 1, Key: []byte(key),
			Params: engine.Params{Alg: engine.Fixed, Limit: 5, Period: 1e12}}}}
	}
	for _, key := range []string{"before", "after"} {
		if err := perform(s, take(key)); err != nil {
			t.Fatal(err)
		}
		if key == "before" {
			if err := s.append([]byte{entryVersion, 0}); err != nil {
				t.Fatal(err)
			}
		}
	}
	end(t, s, false)
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(s.Recover(t.Context()), s.Close(t.Context(), SaveNever))
	if want := fmt.Sprintf("limitsrv recover %s --skip-entry 2)", o.Dir); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Fatalf("it starts: %v, want %s", err, want)
	}
	check := func() error { return Check(o.FS, o.Dir, o.Engine.Commands, func(string) {}) }
	if err := check(); err == nil {
		t.Error("the check accepts an entry that can't be read")
	}
	kept, err := SkipEntry(o.FS, o.Dir, 2,
		func(f *Found) bool { return bytes.Equal(f.Entry.Data, []byte{entryVersion, 0}) })
	if err != nil || kept == "" {
		t.Fatalf("%q keeps it, %v", kept, err)
	}
	if err := check(); err != nil {
		t.Errorf("the check of a log with a skipped entry: %v", err)
	}
	s = start(t, o)
	defer end(t, s, false)
	if got := s.Engine().Len(); got != 2 {
		t.Errorf("%d keys, want 2", got)
	}
}
