package datatypes

import (
	"strings"
	"testing"

	"limitsrv/engine"
)

// bitWords completes a line of the commands of bitmaps.
func (r lineSource) bitWords(line [][]byte) [][]byte {
	add := func(words ...string) {
		for _, w := range words {
			line = append(line, []byte(w))
		}
	}
	line = append(line[:1], r.word("key"))
	switch name := strings.ToUpper(string(line[0])); name {
	case "SETBIT":
		add(r.bitOffset(), pickOne(r, "0", "1", "1", "1", "2", "-1", "x", "1 "))
	case "GETBIT":
		add(r.bitOffset())
	case "BITCOUNT":
		if r.IntN(3) > 0 {
			add(r.rangeEnd(), r.rangeEnd())
			if r.IntN(2) == 0 {
				add(pickOne(r, "BIT", "BYTE", "bit", "Byte", "bits", "BIT\x00"))
			}
		}
	default:
		for range r.IntN(5) {
			line = append(line, r.field(name == "BITFIELD_RO" && r.IntN(10) > 0)...)
		}
	}
	return line
}

func (r lineSource) bitOffset() string {
	return pickOne(r, "0", "1", "7", "8", "63", "100", "191", "192", "1000", "7000", "40000", "-1", "4294967296",
		"34359738368", "x", "#1", "01", "")
}

func (r lineSource) rangeEnd() string {
	return pickOne(r, "0", "1", "2", "5", "7", "8", "9", "20", "30", "4095", "4096", "5000", "-1", "-2", "-9", "-30",
		"-100", "9223372036854775807", "-9223372036854775808", "x")
}

// field draws a subcommand of BITFIELD.
func (r lineSource) field(get bool) (words [][]byte) {
	add := func(more ...string) {
		for _, w := range more {
			words = append(words, []byte(w))
		}
	}
	if !get && r.IntN(3) == 0 {
		add(pickOne(r, "OVERFLOW", "overflow"), pickOne(r, "WRAP", "SAT", "SAT", "FAIL", "fail", "FAIL\x00", "bad"))
	}
	kind := pickOne(r, "i8", "u8", "i16", "u16", "i5", "u3", "i64", "u63", "i63", "i1", "u1", "u32", "i33", "u64", "i65",
		"u0", "x8", "i", "u+8", "u8\x00z")
	if r.IntN(3) > 0 {
		kind = pickOne(r, "i8", "u8", "i16", "u16", "i5", "u3", "i64", "u63", "i63", "i1", "u1", "u32", "i33")
	}
	offset := pickOne(r, "0", "1", "3", "7", "8", "60", "100", "185", "#0", "#1", "#2", "#10", "1000", "40000", "5000",
		"#5", "63", "62", "16", "2")
	if r.IntN(30) == 0 {
		offset = pickOne(r, "-1", "#-1", "x", "#", "4294967296", "#9223372036854775807", "")
	}
	if get || r.IntN(3) == 0 {
		add(pickOne(r, "GET", "get"), kind, offset)
	} else {
		add(pickOne(r, "SET", "INCRBY", "incrby"), kind, offset,
			pickOne(r, "0", "1", "-1", "5", "100", "-100", "255", "256", "127", "128", "-128", "-129", "65535", "4294967296",
				"9223372036854775807", "-9223372036854775808", "-9223372036854775807", "-9223372036854775700",
				"9223372036854775700", "1000", "x", "1.5"))
	}
	if r.IntN(40) == 0 {
		words = words[:len(words)-1]
	}
	return words
}

// TestBitSteps: bits beyond the bound of a value, which Redis has further away, and commands
// on limits.
func TestBitSteps(t *testing.T) {
	o := newOurs()
	o.steps(t, someTime, []step{
		{0, "SETBIT k 134217727 1", ":0|"},
		{0, "STRLEN k", ":16777216|"},
		{0, "SETBIT k 134217728 1", "-" + errTooLong + "|"},
		{0, "GETBIT k 134217728", ":0|"},
		{0, "GETBIT k 4294967296", "-" + errBitOffset + "|"},
		{0, "BITCOUNT k", ":1|"},
		{0, "BITCOUNT k -1 -1 BIT", ":1|"},
		{0, "BITFIELD k SET u8 134217724 1", "-" + errTooLong + "|"},
		{0, "BITFIELD k GET u8 134217724", "*1|:16|"},
		{0, "BITFIELD new SET u8 4294967295 1", "-" + errTooLong + "|"},
		{0, "EXISTS new", ":0|"},
		{0, "BITCOUNT none x y", "-" + errNotInt + "|"},
	})
	o.e.Apply(someTime, &engine.Batch{Ops: []engine.Op{{
		Kind: engine.Take, Params: engine.Params{Alg: engine.Log, Limit: 10, Period: 90e9}, N: 3, Key: []byte("l"),
	}}})
	for _, line := range []string{"SETBIT l 1 1", "GETBIT l 1", "BITCOUNT l", "BITFIELD l GET u8 0",
		"BITFIELD l SET u8 0 1", "BITFIELD_RO l GET u8 0"} {
		o.steps(t, someTime, []step{{0, line, "-" + errWrongType + "|"}})
	}
}

// TestBitsWhenTight: with full memory a command that would make a string longer changes
// nothing.
func TestBitsWhenTight(t *testing.T) {
	o := newOurs()
	long := strings.Repeat("x", 100)
	o.steps(t, someTime, []step{{0, "SET long " + long, "+OK|"}, {0, "SET text abc", "+OK|"},
		{0, "SET number 12345678901234567", "+OK|"}})
	o.tight = true
	o.steps(t, someTime, []step{
		{0, "SETBIT new 1 1", "-" + errFull + "|"},
		{0, "SETBIT text 7 0", ":1|"},
		{0, "SETBIT text 1000 0", "-" + errFull + "|"},
		{0, "SETBIT long 799 1", ":0|"},
		{0, "SETBIT long 800 1", "-" + errFull + "|"},
		{0, "BITFIELD long SET u8 0 0 SET u8 800 1", "-" + errFull + "|"},
		{0, "BITFIELD long GET u8 0", "*1|:120|"},
		{0, "BITFIELD number SET u8 #0 49 SET u8 #1 120", "-" + errFull + "|"},
		{0, "GET number", "$17|12345678901234567|"},
		{0, "BITFIELD number SET u8 #0 50", "*1|:49|"},
		{0, "GET number", "$17|22345678901234567|"},
		{0, "BITFIELD new GET u8 0", "*1|:0|"},
		{0, "BITFIELD new SET u8 0 0", "-" + errFull + "|"},
	})
}
