package values

import "encoding/binary"

// A text is a byte string of any length up to MaxText. Up to maxBlob it is a single blob. A
// longer text is in pieces of maxBlob, each a blob, and its own blob is the list of their
// references. So no change copies or moves more than a piece and the list. The empty text
// is no blob.

// MaxText bounds the length of a text, because its list of pieces is a single blob. The
// owner must not exceed it.
const MaxText = maxBlob/pieceRefBytes*maxBlob - 1

const pieceRefBytes = 4

// newText returns a copy of b.
func (m *memory) newText(b []byte) blobRef {
	r := m.growText(0, 0, len(b))
	m.writeText(r, len(b), 0, b)
	return r
}

// pieces returns the number of pieces of a text of n bytes.
func pieces(n int) int { return (n + maxBlob - 1) / maxBlob }

// pieceRef returns the i-th piece of a text of n bytes.
func (m *memory) pieceRef(r blobRef, n, i int) blobRef {
	if n <= maxBlob {
		return r
	}
	return blobRef(binary.LittleEndian.Uint32(m.view(r)[i*pieceRefBytes:]))
}

// piece returns the bytes of a text of n bytes from at to the end of their piece, for
// reading only.
func (m *memory) piece(r blobRef, n, at int) []byte {
	if at >= n {
		return nil
	}
	i := at / maxBlob
	b := m.view(m.pieceRef(r, n, i))
	return b[at-i*maxBlob : min(n-i*maxBlob, maxBlob)]
}

// editPiece returns the same bytes as piece, for changes.
func (m *memory) editPiece(r blobRef, n, at int) []byte {
	i := at / maxBlob
	b := m.edit(m.pieceRef(r, n, i))
	return b[at-i*maxBlob : min(n-i*maxBlob, maxBlob)]
}

// writeText overwrites the bytes from at on. Requires: the text has them, and b is not
// memory of a store.
func (m *memory) writeText(r blobRef, n, at int, b []byte) {
	for len(b) > 0 {
		done := copy(m.editPiece(r, n, at), b)
		at, b = at+done, b[done:]
	}
}

// growText returns a text with the bytes of one of n bytes, which it replaces, and zeros
// up to the length of to.
func (m *memory) growText(r blobRef, n, to int) blobRef {
	if to <= n {
		return r
	}
	if to <= maxBlob {
		if n == 0 {
			r = m.alloc(to)
		} else {
			r = m.resize(r, n, to)
		}
		clear(m.edit(r)[n:to])
		return r
	}
	if n <= maxBlob { // the first piece, and a list for it
		r = m.growText(r, n, maxBlob)
		list := m.alloc(pieces(to) * pieceRefBytes)
		binary.LittleEndian.PutUint32(m.edit(list), uint32(r))
		r, n = list, max(n, maxBlob)
	} else {
		r = m.resize(r, pieces(n)*pieceRefBytes, pieces(to)*pieceRefBytes)
	}
	for n < to {
		i := n / maxBlob
		old, end := blobRef(0), min(to-i*maxBlob, maxBlob)
		if n%maxBlob > 0 {
			old = blobRef(binary.LittleEndian.Uint32(m.view(r)[i*pieceRefBytes:]))
		}
		piece := m.growText(old, n%maxBlob, end)
		binary.LittleEndian.PutUint32(m.edit(r)[i*pieceRefBytes:], uint32(piece))
		n = i*maxBlob + end
	}
	return r
}

// releaseText frees a text of n bytes.
func (m *memory) releaseText(r blobRef, n int) {
	if n == 0 {
		return
	}
	if n > maxBlob {
		for i := range pieces(n) {
			m.release(m.pieceRef(r, n, i))
		}
	}
	m.release(r)
}

// textBytes returns the memory of a text of n bytes.
func (m *memory) textBytes(r blobRef, n int) int64 {
	if n == 0 {
		return 0
	}
	bytes := int64(m.capacity(r))
	if n > maxBlob {
		for i := range pieces(n) {
			bytes += int64(m.capacity(m.pieceRef(r, n, i)))
		}
	}
	return bytes
}
