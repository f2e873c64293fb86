package main

import (
	"strings"
	"testing"
)

func TestReplyCounter(t *testing.T) {
	const in = "*5\r\n:1\r\n:1000\r\n:999\r\n:0\r\n:86400\r\n-OOM no memory for a new key\r\n+OK\r\n*2\r\n:-1\r\n$-1\r\n:7\r\n*5\r\n:1\r\n"
	for size := 1; size <= len(in); size++ {
		var got replyCounter
		for rest := in; rest != ""; {
			n := min(size, len(rest))
			if err := got.take([]byte(rest[:n])); err != nil {
				t.Fatalf("chunks of %d: %v", size, err)
			}
			rest = rest[n:]
		}
		if got.replies != 5 || got.refused != 1 || got.left != 4 {
			t.Errorf("chunks of %d: %d replies, %d refused, %d lines left, want 5, 1 and 4", size, got.replies, got.refused, got.left)
		}
	}
}

func TestReplyCounterReturnsOtherErrors(t *testing.T) {
	var got replyCounter
	if err := got.take([]byte(":1\r\n-ERR unknown command\r\n")); err == nil || !strings.Contains(err.Error(), "unknown command") {
		t.Errorf("take = %v, want the server's error", err)
	}
}
