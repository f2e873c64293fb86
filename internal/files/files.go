// Package files reads the files that flags name. Some of these files are read again while
// the server runs. A file that was replaced by anything else must not block the reader or
// make it use more memory, or more time of a parser, than intended.
//
// It imports the standard library.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

var errNotRegular = errors.New("it is not a regular file")

// Read reads a regular file of at most the given number of bytes, following symbolic
// links, and returns its FileInfo. A pipe, device or directory is an error at once.
// Errors name the file.
func Read(name string, most int64) ([]byte, fs.FileInfo, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe without a writer would block
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "read", Path: name, Err: errNotRegular}
	}
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: name,
			Err: fmt.Errorf("it may have at most %d bytes, got %d", most, max(info.Size(), int64(len(data))))}
	}
	return data, info, err
}
