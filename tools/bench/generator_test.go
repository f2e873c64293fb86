package main

import (
	"net"
	"slices"
	"strings"
	"testing"
)

func TestPipelineWritesKeys(t *testing.T) {
	p := newPipeline([]string{"RL.TOKEN", keyPlace, "5"}, 2)
	keys := []int{42, 999_999_999_999, 7}
	next := func() (int, bool) {
		if len(keys) == 0 {
			return 0, false
		}
		key := keys[0]
		keys = keys[1:]
		return key, true
	}
	one := func(digits string) string {
		return "*3\r\n$8\r\nRL.TOKEN\r\n$22\r\nrate:user:" + digits + "\r\n$1\r\n5\r\n"
	}
	for _, want := range []string{one("000000000042") + one("999999999999"), one("000000000007"), ""} {
		if got := string(p.first(p.fill(next))); got != want {
			t.Errorf("sent %q\nwant %q", got, want)
		}
	}
}

func TestSequentialCoversAllKeys(t *testing.T) {
	var all []int
	source := sequential(0, 10, 3)
	for connection := range 3 {
		next := source(connection)
		for key, ok := next(); ok; key, ok = next() {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(all, want) {
		t.Errorf("keys %v, want %v", all, want)
	}
}

func TestFollowingRepeatsItsTrace(t *testing.T) {
	next := following([]uint32{1, 2, 3, 4}, 2)(1)
	var got []int
	for range 5 {
		key, _ := next()
		got = append(got, key)
	}
	if want := []int{3, 4, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
}

func TestReadLines(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pieces []string
		lines  int
		want   string // substring of the error; empty: no error
	}{
		{"a reply in pieces", []string{"*2\r\n:1", "\r\n:-1\r\n"}, 3, ""},
		{"two replies at once", []string{"*1\r\n:1\r\n*1\r\n:1\r\n"}, 4, ""},
		{"an error at the start", []string{"-ERR no\r\n"}, 1, "-ERR no"},
		{"an error at the start of a piece", []string{":1\r\n", "-ERR no\r\n"}, 2, "-ERR no"},
		{"an error within", []string{":1\r\n-ERR no\r\n"}, 2, "-ERR no"},
		{"a minus where a piece begins", []string{":", "-1\r\n"}, 1, ""},
		{"too much", []string{":1\r\n:2\r\n"}, 1, "surplus"},
		{"too little", []string{":1\r\n"}, 2, "EOF"},
	} {
		here, there := net.Pipe()
		go func() {
			for _, piece := range tt.pieces {
				there.Write([]byte(piece))
			}
			there.Close()
		}()
		err := readLines(here, make([]byte, 100), tt.lines)
		here.Close()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: readLines = %v, want %q", tt.name, err, tt.want)
		}
	}
}
