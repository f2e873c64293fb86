package value

import "bytes"

// A String is a string of bytes. It does not change.
type String struct {
	bytes  []byte
	hash   uint32
	hashed bool
}

// NewString returns a string that outlives all runs. Any number of goroutines may use it
// at once.
func NewString(text string) *String {
	s := &String{bytes: []byte(text)}
	s.Hash()
	return s
}

// Bytes returns the bytes, which must not be changed. The bytes of a string made in a run
// are valid until the end of the run.
func (s *String) Bytes() []byte { return s.bytes }

// Len returns the number of bytes.
func (s *String) Len() int { return len(s.bytes) }

// Equal reports whether both have the same bytes.
func (s *String) Equal(other *String) bool {
	return s == other || len(s.bytes) == len(other.bytes) && string(s.bytes) == string(other.bytes)
}

// Less reports whether s is before other, by bytes.
func (s *String) Less(other *String) bool { return bytes.Compare(s.bytes, other.bytes) < 0 }

// Hash returns the hash of Lua 5.1, which sets the order of tables. It takes all bytes, as
// in Redis; Lua itself skips some of long strings. Cost: linear, once.
func (s *String) Hash() uint32 {
	if s.hashed {
		return s.hash
	}
	h := uint32(len(s.bytes))
	for i := len(s.bytes) - 1; i >= 0; i-- {
		h ^= h<<5 + h>>2 + uint32(s.bytes[i])
	}
	s.hash, s.hashed = h, true
	return h
}
