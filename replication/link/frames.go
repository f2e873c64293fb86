package link

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// A FrameReader reads frames: the length of the rest in 4 bytes, then the rest.
//
// Frames that fit the buffer of r are read in place; a longer message allocates memory as
// its bytes arrive, at most a few times the bytes received.
type FrameReader struct {
	r    *bufio.Reader
	most int // maximum bytes of a frame
	skip int // bytes of r used by the last frame
	long []byte
}

// NewFrameReader returns a reader of frames with at most most bytes.
func NewFrameReader(r *bufio.Reader, most int) *FrameReader { return &FrameReader{r: r, most: most} }

// FrameHead is the size of a frame's length field.
const FrameHead = 4

// MaxKeptFrame bounds the memory for long frames that is reused.
const MaxKeptFrame = 1 << 20

// Next returns the next frame, without its length. It is valid until the next call. A
// frame that is too long is an error of Garbled; all other errors are the reader's.
func (f *FrameReader) Next() ([]byte, error) {
	if err := f.drop(); err != nil {
		return nil, err
	}
	head, err := f.r.Peek(FrameHead)
	if err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head))
	if n < 0 || n > f.most {
		return nil, &refusal{reasonGarbled, fmt.Sprintf("a frame of %d bytes, at most %d are allowed", n, f.most)}
	}
	if whole := FrameHead + n; whole <= f.r.Size() {
		frame, err := f.r.Peek(whole)
		if err != nil {
			return nil, err
		}
		f.skip = whole
		return frame[FrameHead:], nil
	}
	f.skip = FrameHead
	return f.readLong(n)
}

// drop discards the last frame.
func (f *FrameReader) drop() error {
	_, err := f.r.Discard(f.skip)
	f.skip = 0
	return err
}

// readLong reads a frame of n bytes that is longer than the buffer.
func (f *FrameReader) readLong(n int) ([]byte, error) {
	if err := f.drop(); err != nil {
		return nil, err
	}
	data := f.long[:0]
	for len(data) < n {
		from := len(data)
		data = append(data, make([]byte, min(n-from, max(from, f.r.Size())))...)
		if _, err := io.ReadFull(f.r, data[from:]); err != nil {
			return nil, err
		}
	}
	if cap(data) <= MaxKeptFrame {
		f.long = data
	}
	return data, nil
}

// Ready reports whether the next frame can be read without blocking. It is false for a
// frame that is longer than the buffer.
func (f *FrameReader) Ready() bool {
	buffered := f.r.Buffered() - f.skip
	if buffered < FrameHead {
		return false
	}
	head, err := f.r.Peek(f.skip + FrameHead)
	return err == nil && uint64(binary.BigEndian.Uint32(head[f.skip:])) <= uint64(buffered-FrameHead)
}
