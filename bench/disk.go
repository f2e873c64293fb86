package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A disk is where the servers that keep state keep it.
type disk struct {
	dir        string // of this run alone, removed when it ends
	filesystem string // as the kernel calls it
	// flushes are how long it took to append 4 KiB to a file and flush them.
	flushes latency
}

// inMemory are file systems that are no disk.
var inMemory = []string{"tmpfs", "ramfs"}

// openDisk makes a directory in root, or if that is empty in the directory for
// temporary files or the current one, whichever first is on a disk, and measures
// how fast that is.
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

// sub makes a directory in it.
func (d disk) sub(name string) (string, error) {
	dir := filepath.Join(d.dir, name)
	return dir, os.Mkdir(dir, 0o700)
}

// String names the file system and how fast it is.
func (d disk) String() string {
	return fmt.Sprintf("%s, where a 4 KiB append and its fdatasync take %s (p50 / p99 / worst)",
		d.filesystem, millisTexts(d.flushes.p50, d.flushes.p99, d.flushes.worst))
}

// flushCount is how often the disk is flushed to measure it.
const flushCount = 500

// probeDisk appends to a file in dir and flushes that, again and again.
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

// filesystemOf finds the type of the file system that holds an absolute path, by
// the mount point that is the longest prefix of it; of two on one mount point
// the later one hides the earlier. mountinfo is as in proc_pid_mountinfo(5).
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

// inside says whether path is dir or below it.
func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// usage is how many bytes of the disk the files at path and below it take. What
// is removed meanwhile does not count.
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
