package persist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/hashicorp/raft-wal/types"
)

func testCodec() *codec { return newCodec(newCodecID(12345), new(atomic.Uint64)) }

func encodeRecord(t *testing.T, c *codec, l *raft.Log) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := c.Encode(l, &buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestCodec(t *testing.T) {
	at := time.Unix(1_700_000_000, 123_456_789)
	for _, tt := range []struct {
		name  string
		log   raft.Log
		bytes int
	}{
		{"an entry of one node", raft.Log{Index: 7, Data: []byte("data")}, 36},
		{"an empty entry", raft.Log{Index: 1}, 32},
		{"an entry of a cluster", raft.Log{Index: 1 << 63, Term: 9, Type: raft.LogConfiguration, Data: []byte("d"),
			Extensions: []byte("ext"), AppendedAt: at}, 56},
		{"a term alone", raft.Log{Index: 2, Term: 1, Type: raft.LogNoop}, 52},
		{"extensions alone", raft.Log{Index: 2, Extensions: []byte("e")}, 53},
	} {
		c := testCodec()
		c.synced.Store(5)
		b := encodeRecord(t, c, &tt.log)
		if len(b) != tt.bytes {
			t.Errorf("%s: %d bytes, want %d", tt.name, len(b), tt.bytes)
		}
		var got raft.Log
		if err := c.Decode(bytes.Clone(b), &got); err != nil || !sameLog(&got, &tt.log) {
			t.Errorf("%s: got %+v, %v; want %+v", tt.name, got, err, tt.log)
		}
		var r record
		if err := c.read(b, &r); err != nil || r.synced != 5 || r.index != tt.log.Index {
			t.Errorf("%s: got index %d, synced %d, %v; want %d and 5", tt.name, r.index, r.synced, err, tt.log.Index)
		}
		other := newCodec(newCodecID(12346), nil)
		if err := other.Decode(b, &got); err == nil {
			t.Errorf("%s: another log accepts it", tt.name)
		}
		for i := range b {
			for bit := range 8 {
				b[i] ^= 1 << bit
				if err := c.Decode(b, &got); err == nil {
					t.Errorf("%s: bit %d of byte %d flipped, and no error", tt.name, bit, i)
				}
				b[i] ^= 1 << bit
			}
			if err := c.Decode(b[:i], &got); err == nil {
				t.Errorf("%s: cut to %d bytes, and no error", tt.name, i)
			}
		}
	}
}

// sameLog compares two entries; empty and nil bytes are equal.
func sameLog(a, b *raft.Log) bool {
	return a.Index == b.Index && a.Term == b.Term && a.Type == b.Type && bytes.Equal(a.Data, b.Data) &&
		bytes.Equal(a.Extensions, b.Extensions) && a.AppendedAt.Equal(b.AppendedAt)
}

// TestCodecFields fails if raft.Log has a new field.
func TestCodecFields(t *testing.T) {
	if n := reflect.TypeFor[raft.Log]().NumField(); n != 6 {
		t.Errorf("raft.Log has %d fields, the codec supports 6", n)
	}
}

// TestCodecInRaftWAL reads entries through raft-wal, like a cluster.
func TestCodecInRaftWAL(t *testing.T) {
	fs := vfs.NewMem()
	l := openLog(t, fs, "/log", LogOptions{Policy: Always})
	for i := uint64(1); i <= 40; i++ {
		e := &raft.Log{Index: i, Term: i / 3, Type: raft.LogCommand, Data: payload(i), Extensions: []byte("x"),
			AppendedAt: time.Unix(int64(i), 1)}
		if err := l.wal.StoreLogs([]*raft.Log{e}); err != nil {
			t.Fatal(err)
		}
	}
	closeLog(t, l)
	l = openLog(t, fs, "/log", LogOptions{Policy: Always})
	for i := uint64(1); i <= 40; i++ {
		var got raft.Log
		err := l.wal.GetLog(i, &got)
		if err != nil || got.Index != i || got.Term != i/3 || !bytes.Equal(got.Data, payload(i)) ||
			!got.AppendedAt.Equal(time.Unix(int64(i), 1)) {
			t.Errorf("entry %d: got %+v, %v", i, got, err)
		}
	}
	if err := l.wal.DeleteRange(35, 40); err != nil { // entries that contradict the entries of a new leader
		t.Fatal(err)
	}
	if err := l.wal.StoreLog(&raft.Log{Index: 35, Term: 99}); err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	l = openLog(t, fs, "/log", LogOptions{Policy: Always})
	defer closeLog(t, l)
	var got raft.Log
	if err := l.wal.GetLog(35, &got); err != nil || got.Term != 99 || l.Last() != 35 {
		t.Errorf("after the end was replaced: %+v, %v, last %d; want term 99, last 35", got, err, l.Last())
	}
}

// resum sets the CRC of META.
func resum(b []byte) { binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[12:], castagnoli)) }

// TestLaterVersions writes META, the codec or an entry with a later version.
func TestLaterVersions(t *testing.T) {
	made := madeLog(t, Always, 40, 0)
	for _, tt := range []struct {
		name   string
		change func(c contents)
		want   string
	}{
		{"META", func(c contents) {
			c[metaName][12] = 2
			resum(c[metaName])
		}, "META has format 2, and this limitsrv supports formats up to 1"},
		{"the codec", func(c contents) {
			c[metaName][16] = 3
			resum(c[metaName])
		}, "the codec of the log has format 3"},
		{"an entry", func(c contents) {
			b := c[c.tailName()]
			id := codecID(binary.LittleEndian.Uint64(b[24:]))
			entry := b[bytes.LastIndex(b, b[26:30]):]
			entry = entry[:binary.LittleEndian.Uint32(entry[8:])]
			entry[12] = 2
			binary.LittleEndian.PutUint32(entry[4:], crc32.Update(id.crcSeed(), castagnoli, entry[8:]))
		}, "a record of the log has format 2"},
	} {
		c := contents{}
		for name, b := range made {
			c[name] = bytes.Clone(b)
		}
		tt.change(c)
		var version *NewerError
		for _, err := range []error{
			checkedLog(c.write(t), "/log", anotherBoot),
			second(outcome(t, c.write(t), tt.name)),
			repairLog(c.write(t), "/log", func(string) bool { return true }),
		} {
			if !errors.As(err, &version) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want a NewerError with %q", tt.name, err, tt.want)
			}
		}
	}
}

func TestMetaCheck(t *testing.T) {
	at := time.Unix(1, 2)
	full := types.SegmentInfo{ID: 4, BaseIndex: 10, MinIndex: 12, MaxIndex: 20, IndexStart: 99, CreateTime: at,
		SealTime: at, SizeLimit: 1}
	tail := types.SegmentInfo{ID: 5, BaseIndex: 21, MinIndex: 21, CreateTime: at, SizeLimit: 1}
	for _, tt := range []struct {
		name   string
		change func(s *logState)
		want   string
	}{
		{"valid", func(*logState) {}, ""},
		{"a tail alone", func(s *logState) { s.Segments = s.Segments[1:] }, ""},
		{"no segment", func(s *logState) { s.Segments = nil }, "length"},
		{"a codec of raft-wal", func(s *logState) { s.codec = 1 }, "codec"},
		{"a gap", func(s *logState) { s.Segments[0].MaxIndex = 19 }, "follow"},
		{"an overlap", func(s *logState) { s.Segments[0].MaxIndex = 21 }, "follow"},
		{"deleted entries behind the first segment", func(s *logState) { s.Segments[1].MinIndex = 22 }, "follow"},
		{"a tail alone with deleted first entries", func(s *logState) {
			s.Segments = s.Segments[1:]
			s.Segments[0].MinIndex = 22
		}, ""},
		{"a first entry before the segment", func(s *logState) { s.Segments[0].MinIndex = 9 }, "range"},
		{"a last entry before the first", func(s *logState) { s.Segments[0].MinIndex = 21 }, "before its start"},
		{"index 0", func(s *logState) { s.Segments = s.Segments[1:]; s.Segments[0].BaseIndex = 0 }, "range"},
		{"a segment number that is not used yet", func(s *logState) { s.NextSegmentID = 5 }, "range"},
		{"no size", func(s *logState) { s.Segments[1].SizeLimit = 0 }, "range"},
		{"a tail that is full", func(s *logState) { s.Segments = s.Segments[:1] }, "full"},
		{"two tails", func(s *logState) { s.Segments[0].SealTime = time.Time{} }, "full"},
		{"a full one without index", func(s *logState) { s.Segments[0].IndexStart = 0 }, "full"},
	} {
		s := &logState{codec: newCodecID(1)}
		s.NextSegmentID = 6
		s.Segments = []types.SegmentInfo{full, tail}
		for i := range s.Segments {
			s.Segments[i].Codec = uint64(s.codec)
		}
		tt.change(s)
		got, reason, err := decodeMeta(s.encode())
		switch {
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want == "" && (reason != "" || !reflect.DeepEqual(got, s)):
			t.Errorf("%s: got %+v, %q\nwant %+v", tt.name, got, reason, s)
		case tt.want != "" && !strings.Contains(reason, tt.want):
			t.Errorf("%s: got %q, want %q", tt.name, reason, tt.want)
		}
	}
}

// FuzzLog opens, checks and repairs logs with any META of correct CRC and any bytes in
// the tail: all entries that are read must be correct and in their places.
func FuzzLog(f *testing.F) {
	var made contents
	f.Add([]byte(nil), []byte(nil))
	f.Add([]byte("limitLOG"), make([]byte, 100))
	longer := make([]byte, 100)
	longer[segmentHead+6], longer[segmentHead+frameHead+10] = 0xef, 0xef // both lengths of the first entry
	f.Add([]byte(nil), longer)
	gap := make([]byte, metaHead+3*metaSegment)
	gap[metaHead+2*metaSegment+16] = 1 // the first index of the tail
	f.Add(gap, []byte("no head"))
	f.Fuzz(func(t *testing.T, meta, tail []byte) {
		if made == nil {
			made = madeLog(t, Always, 40, 0)
		}
		c := contents{}
		for name, b := range made {
			c[name] = bytes.Clone(b)
		}
		mix(c[metaName][:], meta)
		resum(c[metaName])
		mix(c[c.tailName()], tail)
		for _, same := range []bool{sameBoot, anotherBoot} {
			check := checkedLog(c.write(t), "/log", same)
			_, _, err := outcomeAfter(t, c.write(t), "fuzz", same)
			if (check == nil) != (err == nil) {
				t.Errorf("same boot %v: check returns %v, but opening returns %v", same, check, err)
			}
		}
		fs := c.write(t)
		if repairLog(fs, "/log", func(string) bool { return true }) != nil {
			return
		}
		if _, err := outcome(t, fs, "fuzz, repaired"); err != nil {
			t.Errorf("after repair: %v", err)
		}
	})
}

// mix XORs the fuzzer's bytes into b, so that 0 leaves b unchanged.
func mix(b, by []byte) {
	for i := range min(len(b), len(by)) {
		b[i] ^= by[i]
	}
}
