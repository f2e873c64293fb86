package persist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A sealed file is small and written whole, in three lines: its kind and format, its
// contents in JSON, and a checksum of both lines. The first and the last line are the
// same in every format.
const (
	sealedTitle = "limitsrv %s, format " // followed by a number
	sealedSum   = "crc32c %08x\n"
	maxSealed   = 1 << 20 // bytes
	// suffixTemporary ends the name of an incomplete file.
	suffixTemporary = ".tmp"
)

// seal returns the bytes of a sealed file.
func seal(what string, format int, contents any) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, sealedTitle+"%d\n", what, format)
	body, err := json.Marshal(contents)
	if err != nil {
		return nil, err
	}
	b.Write(body)
	b.WriteByte('\n')
	fmt.Fprintf(&b, sealedSum, crc32.Checksum(b.Bytes(), castagnoli))
	return b.Bytes(), nil
}

// unseal verifies a sealed file and decodes its contents. Its errors do not name the
// file; the caller must.
func unseal(data []byte, what string, known int, contents any) (format int, err error) {
	whole := len(data) - len(fmt.Sprintf(sealedSum, 0))
	if whole < 0 || string(data[whole:]) != fmt.Sprintf(sealedSum, crc32.Checksum(data[:whole], castagnoli)) {
		return 0, errors.New("its checksum does not match")
	}
	title, body, _ := bytes.Cut(data[:whole], []byte("\n"))
	number, ok := strings.CutPrefix(string(title), fmt.Sprintf(sealedTitle, what))
	if format, err = strconv.Atoi(number); !ok || err != nil {
		return 0, fmt.Errorf("its first line is %q", title)
	}
	if format > known {
		return format, nil
	}
	return format, json.Unmarshal(body, contents)
}

// WriteSealed creates or replaces a sealed file. After a crash the old or the new file is
// there; if WriteSealed returned nil, the new file. Requires: the directory exists.
func WriteSealed(fsys vfs.FS, dir, name, what string, format int, contents any) error {
	data, err := seal(what, format, contents)
	if err != nil {
		return err
	}
	target := fsys.PathJoin(dir, name)
	return replaceFile(fsys, target+suffixTemporary, target, data)
}

// replaceFile creates or replaces the file target: it writes the file made and renames it. After a
// crash the old or the new file is there; if it returned nil, the new file.
func replaceFile(fsys vfs.FS, made, target string, data []byte) error {
	err := WriteSynced(fsys, made, data)
	if err == nil {
		err = fsys.Rename(made, target)
	}
	if err != nil {
		return errors.Join(err, removeIfThere(fsys, made))
	}
	return syncDir(fsys, fsys.PathDir(target))
}

// removeIfThere removes a file if it exists.
func removeIfThere(fsys vfs.FS, name string) error {
	if err := fsys.Remove(name); !isMissing(err) {
		return err
	}
	return nil
}

// ReadSealed reads a sealed file. Its error is a *CorruptError, a *NewerError, or an
// error of the file system, which may be fs.ErrNotExist.
func ReadSealed(fsys vfs.FS, name, what string, known int, contents any) error {
	data, err := readSmall(fsys, name, maxSealed)
	if err != nil {
		return err
	}
	format, err := unseal(data, what, known, contents)
	if err != nil {
		return &CorruptError{What: what, File: name, Err: err}
	}
	if format > known {
		return &NewerError{What: what, File: name, Format: format, Known: known}
	}
	return nil
}

// readSmall reads a file, up to a byte beyond limit.
func readSmall(fsys vfs.FS, name string, limit int64) ([]byte, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	return data, errors.Join(err, file.Close())
}

// WriteSynced writes and syncs a file that only its owner can access. The caller must also sync the
// directory.
func WriteSynced(fsys vfs.FS, name string, data []byte) error {
	file, err := fsys.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err = makePrivate(fsys, name); err == nil {
		_, err = file.Write(data)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// MakeDir creates a directory and its missing parents, and syncs their entries.
func MakeDir(fsys vfs.FS, dir string) error {
	var made []string
	for at := dir; ; at = fsys.PathDir(at) {
		_, err := fsys.Stat(at)
		if err == nil || at == fsys.PathDir(at) {
			break
		}
		if !isMissing(err) {
			return err
		}
		made = append(made, at)
	}
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range made {
		if err := syncDir(fsys, fsys.PathDir(name)); err != nil {
			return err
		}
	}
	return nil
}
