package link

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// testKeys returns the keys of both sides of a link.
func testKeys(t testing.TB) (dialing, accepting sessionKeys) {
	t.Helper()
	one, err := newShare()
	if err != nil {
		t.Fatal(err)
	}
	two, err := newShare()
	if err != nil {
		t.Fatal(err)
	}
	s, both := Secret{[32]byte{1}}, transcript(slices.Concat(one.body, two.body))
	if dialing, err = s.keys(one.private, two.body[nonceBytes:], both); err != nil {
		t.Fatal(err)
	}
	if accepting, err = s.keys(two.private, one.body[nonceBytes:], both); err != nil {
		t.Fatal(err)
	}
	return dialing, accepting.swapped()
}

// bytesConn is a connection that reads from and writes to memory.
type bytesConn struct {
	net.Conn
	in, out bytes.Buffer
	closed  bool
}

func (c *bytesConn) Read(data []byte) (int, error)  { return c.in.Read(data) }
func (c *bytesConn) Write(data []byte) (int, error) { return c.out.Write(data) }
func (c *bytesConn) Close() error                   { c.closed = true; return nil }

// recordsOf splits the bytes of a sealed connection into records.
func recordsOf(wire []byte) (all [][]byte) {
	for len(wire) > 0 {
		n := recordHead + int(binary.BigEndian.Uint16(wire))
		all, wire = append(all, wire[:n]), wire[n:]
	}
	return all
}

// Records are changed in transit: all bytes before the change are read, and no bytes after
// it.
func TestSealTampered(t *testing.T) {
	const before = 2
	flipped := func(r []byte, at int) []byte {
		r = slices.Clone(r)
		r[at] ^= 1
		return r
	}
	for _, tt := range []struct {
		name   string
		change func(records, others [][]byte) [][]byte
	}{
		{"a byte is changed", func(r, _ [][]byte) [][]byte { r[before] = flipped(r[before], recordHead); return r }},
		{"the tag is changed", func(r, _ [][]byte) [][]byte { r[before] = flipped(r[before], len(r[before])-1); return r }},
		{"the length is changed", func(r, _ [][]byte) [][]byte { r[before] = flipped(r[before], 1); return r }},
		{"a record is left out", func(r, _ [][]byte) [][]byte { return slices.Delete(r, before, before+1) }},
		{"a record is repeated", func(r, _ [][]byte) [][]byte { return slices.Insert(r, before, r[before-1]) }},
		{"two records change places",
			func(r, _ [][]byte) [][]byte { r[before], r[before+1] = r[before+1], r[before]; return r }},
		{"a record of the other direction comes",
			func(r, o [][]byte) [][]byte { return slices.Insert(r, before, o[before]) }},
		{"foreign bytes arrive", func(r, _ [][]byte) [][]byte {
			return slices.Insert(r, before, append([]byte{0, 20}, make([]byte, 20)...))
		}},
		{"an empty record comes", func(r, _ [][]byte) [][]byte { return slices.Insert(r, before, []byte{0, 0}) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ours, theirs := testKeys(t)
			var wire, back bytesConn
			sending, answering := newSealedConn(&wire, ours, nil, nil), newSealedConn(&back, theirs, nil, nil)
			for i := range 5 {
				sending.Write([]byte(strings.Repeat(string(rune('a'+i)), 3)))
				answering.Write([]byte("xyz"))
			}
			var arriving bytesConn
			for _, r := range tt.change(recordsOf(wire.out.Bytes()), recordsOf(back.out.Bytes())) {
				arriving.in.Write(r)
			}
			count := 0
			reading := newSealedConn(&arriving, theirs, nil, func() { count++ })
			got, err := io.ReadAll(reading)
			if string(got) != "aaabbb" || !errors.Is(err, errTampered) {
				t.Errorf("read %q, %v, want aaabbb and %v", got, err, errTampered)
			}
			if _, err := reading.Read(make([]byte, 1)); !errors.Is(err, errTampered) || count != 1 || !arriving.closed {
				t.Errorf("then %v, reported %d times, closed: %v", err, count, arriving.closed)
			}
		})
	}
}

// A connection ends within a record.
func TestSealCut(t *testing.T) {
	ours, theirs := testKeys(t)
	var wire, arriving bytesConn
	newSealedConn(&wire, ours, nil, nil).Write([]byte("abc"))
	arriving.in.Write(wire.out.Bytes()[:wire.out.Len()-1])
	if got, err := io.ReadAll(newSealedConn(&arriving, theirs, nil, nil)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read %q, %v, want %v", got, err, io.ErrUnexpectedEOF)
	}
}

// Pieces of any length are written and read in both directions at once, with deadlines
// that pass within a record.
func TestSealCarries(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	ours, theirs := testKeys(t)
	one, two := net.Pipe()
	defer one.Close()
	defer two.Close()
	sides := [2]*sealedConn{newSealedConn(one, ours, nil, nil), newSealedConn(two, theirs, nil, nil)}
	const total = 3 << 20
	data := make([]byte, total)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	ended := make(chan error, 4)
	for i, side := range sides {
		go func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			for rest := data; len(rest) > 0; {
				n := min(len(rest), 1+rng.IntN(1+rng.IntN(100_000)))
				if _, err := side.Write(rest[:n]); err != nil {
					ended <- err
					return
				}
				rest = rest[n:]
			}
			ended <- nil
		}()
		go func() {
			rng := rand.New(rand.NewPCG(seed, uint64(2+i)))
			got := make([]byte, 0, total)
			for len(got) < total {
				if rng.IntN(50) == 0 {
					side.SetReadDeadline(time.Now().Add(time.Duration(rng.IntN(1000)) * time.Microsecond))
				}
				n, err := side.Read(got[len(got):min(total, len(got)+1+rng.IntN(1+rng.IntN(100_000)))])
				got = got[:len(got)+n]
				if errors.Is(err, os.ErrDeadlineExceeded) {
					side.SetReadDeadline(time.Time{})
					continue
				}
				if err != nil {
					ended <- err
					return
				}
			}
			if !bytes.Equal(got, data) {
				ended <- errors.New("other bytes are read than were written")
				return
			}
			ended <- nil
		}()
	}
	for range 4 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// Records cause no allocations.
func TestSealAllocates(t *testing.T) {
	ours, theirs := testKeys(t)
	var wire bytesConn
	sending := newSealedConn(&wire, ours, nil, nil)
	reading := newSealedConn(&wire, theirs, nil, nil)
	data := make([]byte, 3*maxRecord)
	once := func() {
		wire.out.Reset()
		sending.Write(data)
		wire.in.Reset()
		wire.in.Write(wire.out.Bytes())
		if _, err := io.ReadFull(reading, data); err != nil {
			t.Fatal(err)
		}
	}
	once()
	if n := testing.AllocsPerRun(100, once); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzSeal reads any bytes as records.
func FuzzSeal(f *testing.F) {
	ours, theirs := testKeys(f)
	var wire bytesConn
	newSealedConn(&wire, ours, nil, nil).Write([]byte("abc"))
	good := wire.out.Bytes()
	f.Add([]byte{}, true)
	f.Add([]byte{0, 17, 1}, false)
	f.Add(good, false)
	f.Add([]byte("\xff\xff"), true)
	f.Fuzz(func(t *testing.T, data []byte, behind bool) {
		var arriving bytesConn
		want := ""
		if behind {
			arriving.in.Write(good)
			want = "abc"
		} else if bytes.HasPrefix(data, good) {
			want = "abc"
		}
		arriving.in.Write(data)
		got, err := io.ReadAll(newSealedConn(&arriving, theirs, nil, func() {}))
		whole := len(data) == 0 || !behind && bytes.Equal(data, good)
		if string(got) != want || err == nil != whole {
			t.Errorf("read %q, %v, want %q", got, err, want)
		}
	})
}
