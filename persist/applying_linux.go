package persist

import "syscall"

// mapsFiles reports whether mapShared works.
const mapsFiles = true

// mapShared maps the first bytes of a file. Stores to b change the file.
func mapShared(fd uintptr, bytes int) (b []byte, unmap func() error, err error) {
	b, err = syscall.Mmap(int(fd), 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return b, func() error { return syscall.Munmap(b) }, nil
}
