package backend

import (
	"crypto/rand"
	"encoding/hex"
)

// NewID returns 40 random hexadecimal digits.
func NewID() string {
	var id [20]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}
