package files

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("12345"), 0o640),
		os.WriteFile(at("long"), []byte("123456"), 0o600),
		os.Symlink("file", at("link")),
		os.Symlink("loop", at("loop")),
		syscall.Mkfifo(at("pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, path, want, err string }{
		{"reads a file", at("file"), "12345", ""},
		{"follows a link", at("link"), "12345", ""},
		{"rejects a longer file", at("long"), "", "at most 5 bytes, got 6"},
		{"rejects a pipe without a writer", at("pipe"), "", "not a regular file"},
		{"rejects an endless device", "/dev/zero", "", "not a regular file"},
		{"rejects a directory", dir, "", "not a regular file"},
		{"rejects a loop", at("loop"), "", "loop"},
		{"rejects a missing file", at("none"), "", "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			type result struct {
				data string
				err  error
			}
			read := make(chan result, 1)
			go func() {
				data, _, err := Read(tt.path, 5)
				read <- result{string(data), err}
			}()
			select {
			case r := <-read:
				switch {
				case tt.err == "" && (r.err != nil || r.data != tt.want):
					t.Errorf("Read = %q, %v; want %q", r.data, r.err, tt.want)
				case tt.err != "" && (r.err == nil || !strings.Contains(r.err.Error(), tt.err) ||
					!strings.Contains(r.err.Error(), tt.path)):
					t.Errorf("Read = %q, %v; want an error with %q that names the file", r.data, r.err, tt.err)
				}
			case <-time.After(testwait.Scaled(30 * time.Second)):
				t.Fatal("Read blocks")
			}
		})
	}
	_, info, err := Read(at("file"), 5)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("Read returns mode %v, %v; want 0640", info, err)
	}
}
