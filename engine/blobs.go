package engine

// blobs is the memory for the long strings of a shard.
type blobs struct {
	list    [][]byte
	free    []blobRef
	bytes   int64
	changes uint64
}

// A blobRef identifies a string, from 1 on.
type blobRef uint32

// blobBytes is the memory of a string besides its bytes.
const blobBytes = 24

// nextChange returns the number of a new change to a blob, so that no two states are equal.
func (m *blobs) nextChange() uint64 {
	m.changes++
	return m.changes
}

func (m *blobs) sizeOf(length int) int64 { return int64(length) + blobBytes }

// alloc stores a copy of a string.
func (m *blobs) alloc(value []byte) (r blobRef) {
	if n := len(m.free); n > 0 {
		r, m.free = m.free[n-1], m.free[:n-1]
	} else {
		m.list = append(m.list, nil)
		r = blobRef(len(m.list))
	}
	m.list[r-1] = append([]byte(nil), value...)
	m.bytes += m.sizeOf(len(value))
	return r
}

// bytesOf returns a string in place.
func (m *blobs) bytesOf(r blobRef, length int) []byte { return m.list[r-1][:length:length] }

// release frees a string.
func (m *blobs) release(r blobRef, length int) {
	m.list[r-1] = nil
	m.free = append(m.free, r)
	m.bytes -= m.sizeOf(length)
}

// trim releases the memory if no string is in use.
func (m *blobs) trim() {
	if len(m.free) == len(m.list) {
		m.list, m.free = nil, nil
	}
}
