// Package files reads the files that options name, and that are read again while the
// server runs: whatever has come to stand in their place, reading neither waits nor
// takes more memory, or more time of a parser, than it is meant to.
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

// Read reads a regular file, or one that symbolic links lead to, of at most so many
// bytes, and tells what kind it is of. A pipe, a device or a directory is an error, at
// once. Errors name the file.
func Read(name string, most int64) ([]byte, fs.FileInfo, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe without a writer would have it wait
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
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it may have at most %d bytes", most)}
	}
	return data, info, err
}
