package engine

import (
	"encoding/binary"
	"errors"
)

// A block is a sequence of records in the format of snapshots:
//
//	version of the format, 1 byte; time of the snapshot, 8 bytes
//	record record ...
//
// and a record is
//
//	number of its parameters, counted from 1, if these came before
//	or 0 and its parameters: they become number 1, and all earlier numbers are invalid
//	or the next number and its parameters
//	words of the state, 8 bytes each; none for an algorithm with a tail
//	length of the key, 1 byte, or from 128 on 2: 128 + length / 256, length % 256
//	key
//	tail
//
// Parameters are encoded as Params.Append does. If the key has a past, pastFlag is added
// to the algorithm, and the three numbers of the past follow. If it has holds,
// heldFlag is added. If its database is not 0,
// dbFlag is added, and the database, 1 byte, follows. A tail is the number of the last
// change, and
//
//	of LOG: number of entries; of each: instant, as nanoseconds since the previous entry; permits
//	of LEASE: number of holders; of each: id, 16 bytes; end, as nanoseconds since the snapshot
//	of a key with holds: the tail without holds, or 0 and the words without holds; number of holds;
//	of each: hash of the id, 8 bytes; stamp; end; permits; permits kept; mark, 2 numbers
//	of a record of a reservation: expiry; number of bytes; the bytes
//	of BLOB: expiry, 0 for none; twice the number of bytes, plus 1 if a string of up to 44
//	bytes was changed in part; the bytes
//	of HASH, LIST, SET and ZSET: expiry, 0 for none; the contents as one part of
//	values.Store.Append
//
// Words and the time are little-endian; numbers are unsigned varints. All data except the
// ids of holders and of holds means the same to an engine with any number of shards and any Seed.
//
// Version 1 has no databases, plain values and sources, version 2 no documents and penalty boxes,
// version 3 no receipts, version 4 no holds and their records, and version 5 no records with named amounts.
// Because older programs read them, a shard is written in the lowest version that has all of its own.
const (
	blockLimits    = 1 // version without databases, plain values and sources
	blockPlain     = 2 // version without documents and penalty boxes
	blockTexts     = 3 // version without receipts
	blockReceipts  = 4 // version without holds and their records
	blockHolds     = 5 // version without records with named amounts
	blockVersion   = 6 // newest version
	blockHeadBytes = 9
	holderIDBytes  = 16
)

func appendBlockHead(dst []byte, version byte, now Instant) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, version), uint64(now))
}

func appendParams(dst []byte, k *paramKey, db uint8) []byte {
	at := len(dst)
	dst = k.params.Append(dst)
	if k.past.held != 0 {
		dst[at] |= heldFlag
	}
	if int64(k.past.until)|k.past.n|k.past.debt != 0 {
		dst[at] |= pastFlag
		dst = binary.AppendUvarint(dst, uint64(k.past.until))
		dst = binary.AppendUvarint(dst, uint64(k.past.n))
		dst = binary.AppendUvarint(dst, uint64(k.past.debt))
	}
	if db != 0 {
		dst[at] |= dbFlag
		dst = append(dst, db)
	}
	return dst
}

var errTruncated = errors.New("truncated")

// takeBytes takes n bytes off data; ok is false if there are fewer.
func takeBytes(data []byte, n int) (head, rest []byte, ok bool) {
	if n > len(data) {
		return nil, nil, false
	}
	return data[:n], data[n:], true
}

// takeNumber takes a number up to most off data.
func takeNumber(data []byte, most uint64) (x uint64, rest []byte, ok bool) {
	x, n := binary.Uvarint(data)
	if n <= 0 || x > most {
		return 0, nil, false
	}
	return x, data[n:], true
}

// blockParams are what records of a block share.
type blockParams struct {
	paramKey
	db uint8
}

// takeParams takes parameters, their past and the database off data.
func takeParams(data []byte) (k blockParams, rest []byte, err error) {
	p := &k.params
	n := p.Decode(data)
	if n <= 0 || p.Limit|p.Count|p.Period < 0 {
		return k, nil, errTruncated
	}
	rest = data[n:]
	flags := p.Alg & algFlags
	if p.Alg&^algFlags < firstPlain {
		flags |= p.Alg & heldFlag
	}
	p.Alg &^= flags
	if flags&heldFlag != 0 {
		k.past.held = 1
	}
	if flags&pastFlag != 0 {
		for _, to := range [...]*int64{(*int64)(&k.past.until), &k.past.n, &k.past.debt} {
			var x uint64
			var ok bool
			if x, rest, ok = takeNumber(rest, 1<<63-1); !ok {
				return k, nil, errTruncated
			}
			*to = int64(x)
		}
	}
	if flags&dbFlag != 0 {
		var db []byte
		var ok bool
		if db, rest, ok = takeBytes(rest, 1); !ok || db[0] == 0 || db[0] >= Databases {
			return k, nil, errors.New("database is missing or out of range")
		}
		k.db = db[0]
	}
	return k, rest, p.Check()
}
