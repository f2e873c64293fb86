package main

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/hugepages"
)

// TestHugePages: filled memory is moved into huge pages, unless --huge-pages is off.
func TestHugePages(t *testing.T) {
	if _, err := hugepages.New(); err != nil {
		t.Skip("this system has no huge pages: ", err)
	}
	const values = 400
	value := strings.Repeat("x", 60_000)
	off, on := launch(t, "--huge-pages", "off"), launch(t)
	for _, s := range []*running{off, on} {
		until(t, "the server listens", func() bool {
			w, err := wireFrom("127.0.0.1", s.address)
			if err == nil {
				w.Close()
			}
			return err == nil
		})
		w := wired(t, s.address)
		w.loaded(t)
		for i := range values {
			if got := w.do(t, fmt.Sprintf("SET key:%d %s", i, value)); got != "OK" {
				t.Fatal(got)
			}
		}
	}
	until(t, "half of the values are in huge pages", func() bool {
		return hugePagesKB(t, on.Process.Pid) >= values*len(value)/2>>10
	})
	if kb := hugePagesKB(t, off.Process.Pid); kb != 0 {
		t.Errorf("%d kB are in huge pages with --huge-pages off", kb)
	}
}

func hugePagesKB(t *testing.T, pid int) (kb int) {
	t.Helper()
	for line := range strings.Lines(proc(t, pid, "smaps_rollup")) {
		if n, _ := fmt.Sscanf(line, "AnonHugePages: %d kB", &kb); n == 1 {
			return kb
		}
	}
	t.Fatal("no AnonHugePages")
	return 0
}
