package slots

import (
	"bytes"
	"fmt"
	"strconv"
)

// Count is the number of slots.
const Count = 16384

// A Slot is a part of all keys. It is less than Count.
type Slot uint16

// A Run is a range of slots, from First to Last, both included.
type Run struct{ First, Last Slot }

// All is the run of all slots.
var All = Run{0, Count - 1}

// String returns the run as CLUSTER NODES shows it: a single slot has no end.
func (r Run) String() string {
	if r.First == r.Last {
		return strconv.Itoa(int(r.First))
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// Of returns the slot of a key: the CRC16 of the key, or of the bytes between its first opening
// brace and the next closing brace, if there are any. Cost: one table look-up for each byte.
//
// Source: Redis cluster specification, "Hash tags".
func Of(key []byte) Slot {
	if i := bytes.IndexByte(key, '{'); i >= 0 {
		if n := bytes.IndexByte(key[i+1:], '}'); n > 0 {
			key = key[i+1 : i+1+n]
		}
	}
	return Slot(crc16(key) % Count)
}

// polynomial is the polynomial of the CRC of the XMODEM protocol; the initial value is 0.
const polynomial = 0x1021

// block is the number of bytes that crc16 takes at a time.
const block = 8

// crcs[k][b] is the CRC of the byte b and k zero bytes after it.
var crcs = func() (t [block][256]uint16) {
	for b := range t[0] {
		crc := uint16(b) << 8
		for k := range t {
			for range 8 {
				top := crc >> 15
				crc = crc<<1 ^ top*polynomial
			}
			t[k][b] = crc
		}
	}
	return t
}()

// crc16 returns the CRC of b. The look-ups of a block do not depend on each other, so that it takes
// half the time of one byte after the other.
func crc16(b []byte) (crc uint16) {
	for ; len(b) >= block; b = b[block:] {
		crc = crcs[7][b[0]^byte(crc>>8)] ^ crcs[6][b[1]^byte(crc)] ^
			crcs[5][b[2]] ^ crcs[4][b[3]] ^ crcs[3][b[4]] ^ crcs[2][b[5]] ^ crcs[1][b[6]] ^ crcs[0][b[7]]
	}
	for _, c := range b {
		crc = crc<<8 ^ crcs[0][c^byte(crc>>8)]
	}
	return crc
}
