package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A disk holds the state of the servers that keep any.
type disk struct {
	dir        string // exclusive to this run, removed at its end
	filesystem string // its type as named by the kernel
	// flushes are the times to append 4 KiB to a file and flush them.
	flushes latency
}

// inMemory are the types of file systems that are not on a disk.
var inMemory = []string{"tmpfs", "ramfs"}

// openDisk creates a directory in root and measures its speed. If root is empty, it uses
// the directory for temporary files if that is on a disk, else the current directory.
func openDisk(root string) (disk, error) {
	roots := []string{root}
	if root == "" {
		roots = []string{os.TempDir(), "."}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for _, root := range roots {
		root, err := filepath.Abs(root)
		if err != nil {
			return disk{}, err
		}
		d := disk{filesystem: filesystemOf(string(mounts), root)}
		if slices.Contains(inMemory, d.filesystem) {
			continue
		}
		if d.dir, err = os.MkdirTemp(root, "limitsrv-bench-data-"); err != nil {
			return d, err
		}
		if d.flushes, err = probeDisk(d.dir); err != nil {
			d.close()
			return d, fmt.Errorf("measure the disk: %w", err)
		}
		return d, nil
	}
	return disk{}, fmt.Errorf("%s is in memory; name a directory on a disk with -data", strings.Join(roots, " and "))
}

// close removes the directory.
func (d disk) close() { os.RemoveAll(d.dir) }

// String names the file system and its speed.
func (d disk) String() string {
	return fmt.Sprintf("%s, where a 4 KiB append and its fdatasync take %s (p50 / p99 / worst)",
		d.filesystem, millisTexts(d.flushes.p50, d.flushes.p99, d.flushes.worst))
}

// flushCount is the number of flushes that measure the disk.
const flushCount = 500

// probeDisk repeatedly appends to a file in dir and flushes it.
func probeDisk(dir string) (latency, error) {
	f, err := os.Create(filepath.Join(dir, "probe"))
	if err != nil {
		return latency{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var (
		seen  histogram
		block = make([]byte, 4<<10)
	)
	for range flushCount {
		begin := time.Now()
		if _, err := f.Write(block); err != nil {
			return latency{}, err
		}
		if err := flush(f); err != nil {
			return latency{}, err
		}
		seen.add(time.Since(begin), 1)
	}
	return latencyOf(&seen), nil
}

// filesystemOf returns the type of the file system that holds an absolute path: the file
// system with the longest mount point that is a prefix of path. Of several at the same
// mount point it is the last, which hides the rest. mountinfo has the format of
// proc_pid_mountinfo(5).
func filesystemOf(mountinfo, path string) string {
	found, length := "a file system of unknown type", -1
	for line := range strings.Lines(mountinfo) {
		mount, filesystem, ok := strings.Cut(line, " - ")
		fields, types := strings.Fields(mount), strings.Fields(filesystem)
		if !ok || len(fields) < 5 || len(types) == 0 {
			continue
		}
		point := fields[4]
		if inside(path, point) && len(point) >= length {
			found, length = types[0], len(point)
		}
	}
	return found
}

// inside reports whether path is dir or below it.
func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// flushAll writes all dirty pages of this machine to disk, so that writes left over
// from one run do not slow the next.
func flushAll() { syscall.Sync() }

// allocated returns the bytes on disk of a file.
func allocated(f fs.FileInfo) int64 { return f.Sys().(*syscall.Stat_t).Blocks * 512 }

// usage returns the bytes on disk of all files at path and below. Files removed during
// the walk do not count.
func usage(path string) (int64, error) {
	if _, err := os.Lstat(path); err != nil {
		return 0, err
	}
	total := int64(0)
	err := filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			var file fs.FileInfo
			if file, err = entry.Info(); err == nil {
				total += allocated(file)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return total, err
}
