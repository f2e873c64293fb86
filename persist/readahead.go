package persist

import (
	"errors"
	"io"
)

// readAheadBytes is how much a window reads at a time.
const readAheadBytes = 1 << 20

// A readAhead reads a file ahead: small reads from its begin to its end cost one
// read of the file for each readAheadBytes. One goroutine at a time.
type readAhead struct {
	file  io.ReaderAt
	size  int64 // of the file
	buf   []byte
	start int64 // of buf in the file
}

func newReadAhead(file io.ReaderAt, size int64) *readAhead { return &readAhead{file: file, size: size} }

// at is n bytes of the file from offset on, or those that there are before its
// end, valid until the next call. n is no more than what a caller has reason to
// believe is there: the memory for it stays.
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
