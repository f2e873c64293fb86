package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestFilesystemOf(t *testing.T) {
	const mounts = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n" +
		"23 22 0:20 / /tmp rw - xfs /dev/vdb rw\n" +
		"24 22 0:21 / /tmp rw,nosuid shared:7 - tmpfs tmpfs rw,size=1k\n" +
		"25 22 0:22 / /tmp/deep rw - btrfs /dev/vdc rw\n" +
		"nonsense\n26 22 - \n"
	for _, tt := range []struct{ path, want string }{
		{"/", "ext4"},
		{"/home/me", "ext4"},
		{"/tmp", "tmpfs"},
		{"/tmp/a", "tmpfs"},
		{"/tmpfiles", "ext4"},
		{"/tmp/deep/er", "btrfs"},
	} {
		if got := filesystemOf(mounts, tt.path); got != tt.want {
			t.Errorf("filesystemOf(%s) = %s, want %s", tt.path, got, tt.want)
		}
	}
	if got := filesystemOf("", "/"); got == "" {
		t.Error("filesystemOf without mounts is empty, want a name")
	}
}

func TestUsageCountsAllFiles(t *testing.T) {
	dir := t.TempDir()
	const size = 64 << 10
	for _, name := range []string{"a", "below/b"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(bytes.Repeat([]byte{1}, size)); err != nil {
			t.Fatal(err)
		}
		if err := flush(f); err != nil { // otherwise its blocks may not be allocated yet
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		path        string
		least, most int64
	}{{dir, 2 * size, 3 * size}, {filepath.Join(dir, "a"), size, 2 * size}} {
		if got, err := usage(tt.path); err != nil || got < tt.least || got > tt.most {
			t.Errorf("usage(%s) = %d, %v, want %d to %d", tt.path, got, err, tt.least, tt.most)
		}
	}
	if got, err := usage(filepath.Join(dir, "missing")); err == nil {
		t.Errorf("usage of a missing file = %d, want an error", got)
	}
}

func TestProbeDiskCleansUp(t *testing.T) {
	dir := t.TempDir()
	if got, err := probeDisk(dir); err != nil || got.p50 <= 0 || got.worst < got.p50 {
		t.Errorf("probeDisk = %+v, %v", got, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
}
