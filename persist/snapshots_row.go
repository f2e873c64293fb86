package persist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// A row of the store holds one block. Its key is the generation and the hash of the first
// key of the block, 8 bytes each, big-endian. Its value is a checksum of key and block
// (CRC-32C, 4 bytes, little-endian), and the block.
const (
	rowKeyBytes = 16
	rowSumBytes = 4
)

func appendRowKey(dst []byte, generation, first uint64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, generation)
	return binary.BigEndian.AppendUint64(dst, first)
}

// generationBounds returns the key range of the rows of generations first to last: from
// inclusive, to exclusive.
func generationBounds(first, last uint64) (from, to []byte) {
	if last == math.MaxUint64 {
		return appendRowKey(nil, first, 0), bytes.Repeat([]byte{0xff}, rowKeyBytes+1)
	}
	return appendRowKey(nil, first, 0), appendRowKey(nil, last+1, 0)
}

func rowSum(key, block []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, block)
}

// add counts a row.
func (s *ShardInfo) add(first uint64, block []byte, sum uint32) {
	if s.Rows == 0 {
		s.First = first
	}
	s.Rows++
	s.Bytes += int64(len(block))
	s.Sum = crc32.Update(s.Sum, castagnoli, binary.LittleEndian.AppendUint32(nil, sum))
}

// read verifies a row, counts it, and returns its block.
func (s *ShardInfo) read(key, value []byte) (block []byte, err error) {
	if len(key) != rowKeyBytes || len(value) < rowSumBytes {
		return nil, fmt.Errorf("a row of %d bytes with a key of %d", len(value), len(key))
	}
	sum, block := binary.LittleEndian.Uint32(value), value[rowSumBytes:]
	if rowSum(key, block) != sum {
		return nil, errors.New("the checksum of a row does not match")
	}
	s.add(binary.BigEndian.Uint64(key[8:]), block, sum)
	return block, nil
}
