package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
)

// A mac is a keyed digest of an attempt. The key is secret and random, so that the time
// of a comparison reveals nothing about a password.
type mac [sha256.Size]byte

// A macKey is the key.
type macKey [sha256.Size]byte

func newMACKey() (k macKey) {
	_, _ = rand.Read(k[:]) // it never fails
	return k
}

// mac digests a host, which may be empty, a name and a password.
func (k *macKey) mac(host, name string, password []byte) (sum mac) {
	h := hmac.New(sha256.New, k[:])
	fmt.Fprintf(h, "%d:%s%d:%s", len(host), host, len(name), name)
	h.Write(password)
	h.Sum(sum[:0])
	return sum
}

// evictOne deletes an arbitrary entry of a map that has reached most; the password of
// that entry is checked again on its next use.
func evictOne[V any](m map[mac]V, most int) {
	if len(m) < most {
		return
	}
	for some := range m {
		delete(m, some)
		return
	}
}
