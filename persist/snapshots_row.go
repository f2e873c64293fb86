package persist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"sync/atomic"
	"time"

	"limitsrv/internal/fatal"
)

// A row holds a block: a checksum (CRC-32C, RowSumBytes, little-endian) of the row's key
// and the block, and the block. Snapshots consist of rows, in the store and in the stream
// between the nodes of a cluster. In the store a row has a key, the generation and the hash
// of the first key of the block, 8 bytes each, big-endian; in the stream its key is empty.
const (
	rowKeyBytes = 16
	RowSumBytes = 4
)

// SealRow sets the checksum of a row in its first RowSumBytes bytes.
func SealRow(key, row []byte) (sum uint32) {
	sum = crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, row[RowSumBytes:])
	binary.LittleEndian.PutUint32(row, sum)
	return sum
}

// OpenRow verifies a row and returns its block and its checksum.
func OpenRow(key, row []byte) (block []byte, sum uint32, ok bool) {
	if len(row) < RowSumBytes {
		return nil, 0, false
	}
	sum, block = binary.LittleEndian.Uint32(row), row[RowSumBytes:]
	return block, sum, crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, block) == sum
}

// ReadRows passes the rows of a shard to put, in order, until it fails: each with the hash
// of its first key, still to be sealed, and valid until put returns. It pauses for half of
// the time, unless hurry is true or from is Crowded.
func ReadRows(from BlockSource, shard int, hurry *atomic.Bool, put func(first uint64, row []byte) error) error {
	pauses := throttle{hurry: hurry, since: time.Now()}
	var row []byte
	for {
		block, first, ok := nextBlock(from, shard, append(row[:0], make([]byte, RowSumBytes)...))
		if !ok {
			return nil
		}
		row = block
		if err := put(first, row); err != nil {
			return err
		}
		if !from.Crowded() {
			pauses.pause()
		}
	}
}

// nextBlock returns the next block of a shard. A panic of the source, unlike a panic of
// Pebble, ends the process, because the engine may hold locks.
func nextBlock(from BlockSource, shard int, room []byte) (block []byte, first uint64, ok bool) {
	defer fatal.OnPanic()
	return from.Next(shard, room)
}

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
	if len(key) != rowKeyBytes || len(value) < RowSumBytes {
		return nil, fmt.Errorf("a row of %d bytes with a key of %d", len(value), len(key))
	}
	block, sum, ok := OpenRow(key, value)
	if !ok {
		return nil, errors.New("the checksum of a row does not match")
	}
	s.add(binary.BigEndian.Uint64(key[8:]), block, sum)
	return block, nil
}
