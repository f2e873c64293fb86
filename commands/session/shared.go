package session

import "sync/atomic"

// maxShared bounds the memory that all sessions take together for a purpose, in bytes.
const maxShared = 64 << 20

// A sharedMemory is the memory that all sessions take together for a purpose. Concurrency: any
// goroutine.
type sharedMemory struct{ taken atomic.Int64 }

// refuses reports whether a session may not take so many bytes in all, because all sessions take more
// than maxShared. It refuses no session that takes at most few bytes.
func (m *sharedMemory) refuses(bytes, few int64) bool {
	return bytes > few && m.taken.Load() > maxShared
}

// A share is the memory that a session takes of a sharedMemory. Concurrency: only the session's own
// goroutine calls set; any goroutine may read it.
type share struct{ atomic.Int64 }

// set sets the memory that the session takes of m.
func (s *share) set(m *sharedMemory, bytes int64) {
	if before := s.Load(); before != bytes {
		s.Store(bytes)
		m.taken.Add(bytes - before)
	}
}
