package persist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// A record is an entry of a log in a segment file, little-endian:
//
//	 0 magic, 4 bytes: of this log alone
//	 4 CRC32C of the codec's number and of all that follows, 4 bytes
//	 8 length of the record, 4 bytes
//	12 version, 1 byte
//	13 raft.LogType, 1 byte
//	14 flags, 1 byte: recordTerm or 0
//	15 zero, 1 byte
//	16 index, 8 bytes
//	24 synced, 8 bytes: index up to which the log was known to be on disk when the
//	   record was written
//	32 if recordTerm: term 8 bytes, time of appending 8 bytes in Unix nanoseconds
//	   or 0, length of the extensions 4 bytes
//	.. data
//	.. extensions
//
// Magic, CRC, length and version keep their places in later versions.
//
// The magic and the number of the codec, which seeds the CRC, are random and unique to the
// log. So neither a client, which can put any bytes into a key, nor blocks of an older log
// can pass for an entry of this log.
type record struct {
	index  uint64
	synced uint64
	raft.Log
}

const (
	recordVersion    = 1
	recordHeader     = 32
	recordTermHeader = 20
	recordTerm       = 1 // flag
)

// maxEntryBytes bounds the data of an entry. No batch reaches it.
const maxEntryBytes = 32 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A codecID is the number of a codec: recordVersion in the lowest 16 bits, and 48 random
// bits of the log. It is in the head of each segment file.
type codecID uint64

func (id codecID) version() int  { return int(id & 0xffff) }
func (id codecID) magic() uint32 { return uint32(id >> 16) }
func (id codecID) crcSeed() uint32 {
	return crc32.Checksum(binary.LittleEndian.AppendUint64(nil, uint64(id)), castagnoli)
}

// newCodecID returns the codec number of a new log for random bits.
func newCodecID(random uint64) codecID {
	return codecID(random<<16 | 1<<16 | recordVersion) // the magic is not 0
}

// codec is the wal.Codec of a log. Concurrency: one goroutine at a time may call Encode.
type codec struct {
	id     codecID
	seed   uint32
	synced *atomic.Uint64
	buf    []byte
}

func newCodec(id codecID, synced *atomic.Uint64) *codec {
	return &codec{id: id, seed: id.crcSeed(), synced: synced}
}

// ID implements wal.Codec.
func (c *codec) ID() uint64 { return uint64(c.id) }

// Encode implements wal.Codec: it writes the record in a Write.
func (c *codec) Encode(l *raft.Log, w io.Writer) error {
	var flags byte
	if l.Term != 0 || !l.AppendedAt.IsZero() || len(l.Extensions) > 0 {
		flags = recordTerm
	}
	order, b := binary.LittleEndian, c.buf[:0]
	b = order.AppendUint32(b, c.id.magic())
	b = order.AppendUint64(b, 0) // CRC and length are set below
	b = append(b, recordVersion, byte(l.Type), flags, 0)
	b = order.AppendUint64(b, l.Index)
	b = order.AppendUint64(b, c.synced.Load())
	if flags&recordTerm != 0 {
		var at int64
		if !l.AppendedAt.IsZero() {
			at = l.AppendedAt.UnixNano()
		}
		b = order.AppendUint64(b, l.Term)
		b = order.AppendUint64(b, uint64(at))
		b = order.AppendUint32(b, uint32(len(l.Extensions)))
	}
	b = append(b, l.Data...)
	b = append(b, l.Extensions...)
	order.PutUint32(b[8:], uint32(len(b)))
	order.PutUint32(b[4:], crc32.Update(c.seed, castagnoli, b[8:]))
	c.buf = b
	_, err := w.Write(b)
	return err
}

// Decode implements wal.Codec. The caller must compare the index with the index that it
// asked for.
func (c *codec) Decode(b []byte, l *raft.Log) error {
	var r record
	if err := c.read(b, &r); err != nil {
		return err
	}
	*l = r.Log
	l.Data, l.Extensions = append([]byte(nil), l.Data...), append([]byte(nil), l.Extensions...)
	return nil
}

var errNotRecord = errors.New("not an entry of this log")

// read parses the record in b. Data and Extensions are parts of b.
func (c *codec) read(b []byte, r *record) error {
	n, ok := c.recordLength(b, int64(len(b)))
	switch {
	case !ok:
		return errNotRecord
	case n != len(b):
		return fmt.Errorf("an entry of %d bytes instead of %d", n, len(b))
	case crc32.Update(c.seed, castagnoli, b[8:]) != binary.LittleEndian.Uint32(b[4:]):
		return errors.New("the checksum of an entry does not match")
	case b[12] != recordVersion:
		return &NewerError{What: "a record of the log", Format: int(b[12]), Known: recordVersion}
	}
	return r.parse(b)
}

// recordLength returns the length in the record header b. ok is false if b is not the
// header of a record, or the length is greater than most.
func (c *codec) recordLength(b []byte, most int64) (n int, ok bool) {
	if len(b) < recordHeader || binary.LittleEndian.Uint32(b) != c.id.magic() {
		return 0, false
	}
	claimed := int64(binary.LittleEndian.Uint32(b[8:]))
	return int(claimed), claimed >= recordHeader && claimed <= min(most, maxFrameBytes)
}

// parse parses a record with a correct CRC and a known version.
func (r *record) parse(b []byte) error {
	order := binary.LittleEndian
	*r = record{index: order.Uint64(b[16:]), synced: order.Uint64(b[24:])}
	r.Log = raft.Log{Index: r.index, Type: raft.LogType(b[13]), Data: b[recordHeader:]}
	if b[14]&recordTerm == 0 {
		return nil
	}
	if len(r.Data) < recordTermHeader {
		return errNotRecord
	}
	r.Term = order.Uint64(r.Data)
	if at := order.Uint64(r.Data[8:]); at != 0 {
		r.AppendedAt = time.Unix(0, int64(at))
	}
	extensions := uint64(order.Uint32(r.Data[16:]))
	r.Data = r.Data[recordTermHeader:]
	if extensions > uint64(len(r.Data)) {
		return errNotRecord
	}
	end := uint64(len(r.Data)) - extensions
	r.Data, r.Extensions = r.Data[:end:end], r.Data[end:]
	return nil
}
