// Package word compares the words of command lines, suggests the nearest word for a
// mistyped word, and quotes them in errors and in MONITOR. It imports nothing of ours.
package word

import "bytes"

// Is reports whether an argument is the word, in any case. Requires: word is in upper
// case.
func Is(arg []byte, word string) bool {
	return len(arg) == len(word) && bytes.EqualFold(arg, []byte(word))
}
