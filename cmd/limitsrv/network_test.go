package main

import (
	"io"
	"strconv"
	"strings"
	"testing"
)

// INFO counts connections and bytes like Redis.
func TestInfoCountsTheNetwork(t *testing.T) {
	r := serve(t, "--max-clients", "2")
	w := wired(t, r.address)
	number := func(field string) int {
		n, err := strconv.Atoi(w.info(t, field))
		if err != nil {
			t.Fatalf("%s: %v", field, err)
		}
		return n
	}
	page := dial(t, "tcp", r.address)
	_, _ = io.WriteString(page, "POST / HTTP/1.1\r\nHost: "+r.address+"\r\n\r\nRL.TOKEN page 1 1\r\n")
	answer, _ := io.ReadAll(page)
	if !strings.HasPrefix(string(answer), "-ERR Protocol error: ") {
		t.Errorf("reply to an HTTP request = %q", answer)
	}
	until(t, "the HTTP connection is closed", func() bool { return number("connected_clients") == 1 })
	if got := w.do(t, "EXISTS page"); got != int64(0) {
		t.Errorf("the HTTP request has created a key: %v", got)
	}
	_ = dial(t, "tcp", r.address)
	until(t, "the second client is connected", func() bool { return number("connected_clients") == 2 })
	third := dial(t, "tcp", r.address)
	_, _ = io.ReadAll(third)
	if a, b := number("rejected_connections"), number("rejected_http_connections"); a != 1 || b != 1 {
		t.Errorf("%d connections rejected by --max-clients and %d as HTTP, want 1 and 1", a, b)
	}
	in, out := number("total_net_input_bytes"), number("total_net_output_bytes")
	again := number("total_net_input_bytes") - in
	if in == 0 || out <= in || again <= 0 {
		t.Errorf("%d bytes in, %d out, and %d more in, want some, more and some", in, out, again)
	}
}
