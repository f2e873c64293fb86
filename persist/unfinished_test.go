package persist

import (
	"bytes"
	"fmt"
	"math/bits"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"limitsrv/internal/testing/testwait"
)

// writtenTail returns the files after the first writes and after the last write, and the
// name of the tail.
func writtenTail(t *testing.T, segmentBytes int64, first, last []*raft.Log) (before, after contents, name string) {
	t.Helper()
	fs := vfs.NewMem()
	l := openLog(t, fs, "/log", LogOptions{Policy: Never, SegmentBytes: segmentBytes})
	defer closeLog(t, l)
	for _, e := range first {
		if err := l.Raft().StoreLog(e); err != nil {
			t.Fatal(err)
		}
	}
	before = readDir(t, fs, "/log")
	name = before.tailName()
	if err := l.store(last); err != nil {
		t.Fatal(err)
	}
	after = readDir(t, fs, "/log")
	return contents{metaName: before[metaName], name: before[name]},
		contents{metaName: before[metaName], name: after[name]}, name
}

func raftEntries(first, last uint64, size int) (all []*raft.Log) {
	for i := first; i <= last; i++ {
		all = append(all, &raft.Log{Index: i, Term: 3, Data: bytes.Repeat([]byte{byte(i)}, size)})
	}
	return all
}

// TestUnfinishedWrite cuts the last write at each byte, like a killed process: the log
// opens without it and reports it. In another boot the same file has an end that was
// never on disk. Cuts that remove a single bit are left to TestOneBit.
func TestUnfinishedWrite(t *testing.T) {
	testwait.Sequential(t)
	t.Parallel()
	for _, tt := range []struct {
		name        string
		first, last []*raft.Log
		bytes       int64
	}{
		{"the first write of a file", nil, raftEntries(1, 1, 40), 4096},
		{"an entry", raftEntries(1, 4, 20), raftEntries(5, 5, 33), 4096},
		{"several entries", raftEntries(1, 2, 20), raftEntries(3, 6, 10), 4096},
		{"an entry that fills the segment", raftEntries(1, 30, 50), raftEntries(31, 31, 900), 4096},
	} {
		before, after, name := writtenTail(t, tt.bytes, tt.first, tt.last)
		whole, from := after[name], len(before[name])
		end := len(bytes.TrimRight(whole, "\x00"))
		for cut := from; cut < end; cut++ {
			if cut > end-frameHead && onesIn(whole[cut:end]) == 1 {
				continue
			}
			for _, zeros := range []int{0, len(whole) - cut + 4096} {
				what := fmt.Sprintf("%s, at byte %d of %d, then %d zeros", tt.name, cut, end, zeros)
				after[name] = append(bytes.Clone(whole[:cut]), make([]byte, zeros)...)
				for _, same := range []bool{sameBoot, anotherBoot} {
					checkUnfinished(t, after, what, same, uint64(len(tt.first)),
						bytes.ContainsFunc(whole[from:cut], func(r rune) bool { return r != 0 }))
				}
			}
		}
	}
}

func checkUnfinished(t *testing.T, c contents, what string, same bool, last uint64, some bool) {
	t.Helper()
	l, err := OpenLog(c.write(t), "/log", LogOptions{SameBoot: same})
	if err != nil {
		t.Errorf("%s, same boot %v: %v", what, same, err)
		return
	}
	d := l.Dropped()
	if l.Last() != last || (d != nil) != some || d != nil && d.Unfinished != same {
		t.Errorf("%s, same boot %v: %d entries, want %d; dropped %v", what, same, l.Last(), last, d)
	}
	closeLog(t, l)
}

func onesIn(b []byte) (n int) {
	for _, c := range b {
		n += bits.OnesCount8(c)
	}
	return n
}

// TestOneBit flips each bit of an unsynced tail: in the same boot no entry is dropped,
// even if the last byte becomes zero.
func TestOneBit(t *testing.T) {
	testwait.Sequential(t)
	t.Parallel()
	for _, tt := range []struct {
		name        string
		first, last []*raft.Log
	}{
		{"entries", raftEntries(1, 3, 9), raftEntries(4, 4, 5)},
		{"one entry", nil, raftEntries(1, 1, 5)},
		{"several in a write", raftEntries(1, 2, 9), raftEntries(3, 5, 5)},
	} {
		var whole []byte
		var after contents
		var name string
		for whole == nil || onesIn(whole[len(whole)-1:]) != 1 { // the checksum depends on random bits
			_, after, name = writtenTail(t, 4096, tt.first, tt.last)
			whole = after[name]
		}
		last, rejected := uint64(len(tt.first)+len(tt.last)), 0
		for at := range whole {
			for bit := range 8 {
				b := bytes.Clone(whole)
				b[at] ^= 1 << bit
				after[name] = b
				l, err := OpenLog(after.write(t), "/log", LogOptions{SameBoot: true})
				switch {
				case err != nil && known(err):
					rejected++
					continue
				case err != nil:
					t.Fatal(err)
				}
				if l.Last() != last {
					t.Errorf("%s: bit %d of byte %d of %d flipped: %d entries of %d, dropped %v", tt.name, bit, at, len(whole),
						l.Last(), last, l.Dropped())
				}
				closeLog(t, l)
			}
		}
		if rejected < 8*len(whole)/2 {
			t.Errorf("%s: %d of %d rejected", tt.name, rejected, 8*len(whole))
		}
	}
}

// TestJunkHead overwrites a segment, or its head: that is damage, also after a power
// failure.
func TestJunkHead(t *testing.T) {
	t.Parallel()
	_, after, name := writtenTail(t, 4096, raftEntries(1, 3, 9), raftEntries(4, 4, 5))
	whole := after[name]
	for what, b := range map[string][]byte{
		"100 bytes":        junk(100),
		"20 bytes":         junk(20),
		"a head":           append(junk(segmentHead), whole[segmentHead:]...),
		"a byte of a head": flipAt(bytes.Clone(whole), 9),
		"the same length":  junk(len(whole)),
	} {
		for _, same := range []bool{sameBoot, anotherBoot} {
			after[name] = b
			if _, err := OpenLog(after.write(t), "/log", LogOptions{SameBoot: same}); !known(err) {
				t.Errorf("%s of junk, same boot %v: %v, want an error", what, same, err)
			}
		}
	}
}

// TestLongerEntry changes both lengths of the second of five entries to a length that
// exceeds the file, like the length of a torn entry. In the same boot that is damage,
// because entries follow it.
func TestLongerEntry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		policy Policy
		opens  bool // in another boot
	}{{Always, false}, {Never, true}} {
		fs := vfs.NewMem()
		l := openLog(t, fs, "/log", LogOptions{Policy: tt.policy, First: 1})
		for i := range uint64(5) {
			mustAppend(t, l, payload(i+1))
		}
		closeLog(t, l)
		c := readDir(t, fs, "/log")
		entry := c[c.tailName()][frames(c[c.tailName()])[1]:]
		entry[6], entry[frameHead+10] = 0xef, 0xef
		if last, _, err := outcomeAfter(t, c.write(t), "longer", sameBoot); !known(err) {
			t.Errorf("%v, same boot: %d entries, %v, want an error", tt.policy, last, err)
		}
		last, _, err := outcomeAfter(t, c.write(t), "longer", anotherBoot)
		if tt.opens && (last != 1 || err != nil) || !tt.opens && !known(err) {
			t.Errorf("%v, another boot: %d entries, %v; want it to open: %v", tt.policy, last, err, tt.opens)
		}
		checkRepair(t, c.write(t), "longer")
	}
}
