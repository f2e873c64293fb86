package persist

import (
	"errors"
	"io"
)

// readAheadBytes is the size of a read of the file.
const readAheadBytes = 1 << 20

// A readAhead buffers a file: small reads in ascending order cost one read of the file per
// readAheadBytes. Concurrency: not safe for concurrent use.
type readAhead struct {
	file  io.ReaderAt
	size  int64 // of the file
	buf   []byte
	start int64 // of buf in the file
}

func newReadAhead(file io.ReaderAt, size int64) *readAhead { return &readAhead{file: file, size: size} }

// at returns n bytes of the file from offset on, fewer at its end, valid until the next
// call. Requires: n is known to be plausible, because memory for n bytes stays allocated.
func (w *readAhead) at(offset int64, n int) ([]byte, error) {
	if offset >= w.size {
		return nil, nil
	}
	n = int(min(int64(n), w.size-offset))
	if from := offset - w.start; from >= 0 && from+int64(n) <= int64(len(w.buf)) {
		return w.buf[from : from+int64(n)], nil
	}
	want := int(min(int64(max(n, readAheadBytes)), w.size-offset))
	if cap(w.buf) < want {
		w.buf = make([]byte, want)
	}
	w.buf, w.start = w.buf[:want], offset
	got, err := w.file.ReadAt(w.buf, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		w.buf = w.buf[:0]
		return nil, err
	}
	w.buf = w.buf[:got]
	return w.buf[:min(n, got)], nil
}
