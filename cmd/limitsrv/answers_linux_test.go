package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// greedy are pipelines for the longest answers that there are. The first is for a client that reads
// in the end.
var greedy = []string{
	strings.Repeat("GET big\r\nINCR n\r\n", 20),
	strings.Repeat("MGET big\r\n", 20),
	"MGET" + strings.Repeat(" big", 200) + "\r\n",
	strings.Repeat("LRANGE list 0 -1\r\n", 20),
	strings.Repeat("HRANDFIELD hash -300 WITHVALUES\r\n", 20),
	strings.Repeat("EVAL \"return redis.call('GET','big')\" 0\r\n", 20),
	strings.Repeat("GETEX big\r\n", 20),
	strings.Repeat("MULTI\r\n"+strings.Repeat("GET big\r\n", 60)+"EXEC\r\n", 3),
	strings.Repeat("KEYS *\r\n", 200),
	strings.Repeat("COMMAND DOCS"+strings.Repeat(" config", 4000)+"\r\n", 20),
	strings.Repeat("SUBSCRIBE channel\r\n", 1),
}

// TestAnswersAreBounded: a hundred clients that ask for the longest answers and do not read them take
// at most 256 MB besides the memory of keys, and other clients are served meanwhile.
func TestAnswersAreBounded(t *testing.T) {
	testwait.Long(t)
	const (
		maxMemory = 64 << 10 // in kB, as most
		most      = maxMemory + 256<<10
		clients   = 100
	)
	binary := buildProgram(t)
	for _, options := range [][]string{nil, {"--data", t.TempDir(), "--fsync", "always"}} {
		address, pid := startProgram(t, binary,
			append([]string{"--max-memory", "64mb", "--write-timeout", "1m"}, options...)...)
		fillForAnswers(t, address)
		var conns []net.Conn
		for i := range clients {
			conn := dial(t, "tcp", address)
			conns = append(conns, conn)
			go io.WriteString(conn, greedy[i%len(greedy)])
		}
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			asks(t, dial(t, "tcp", address),
				"GET small\r\nRL.TOKEN r 1000000 1000000/1s\r\nPUBLISH none "+strings.Repeat("x", 60_000)+"\r\n", "$1\r\nx\r\n")
		}
		if kb := peakKB(t, pid); kb > most {
			t.Errorf("%v: the server has held %d kB, want at most %d", options, kb, most)
		}
		for _, conn := range conns[1:] {
			conn.Close()
		}
		in := bufio.NewReader(conns[0])
		for i := range 20 {
			big, err := in.ReadString('\n')
			if err == nil {
				_, err = in.Discard(16<<20 + 2)
			}
			n, err2 := in.ReadString('\n')
			if big != "$16777216\r\n" || err != nil || err2 != nil || !strings.HasPrefix(n, ":") {
				t.Fatalf("%v: reply %d of the client that reads late: %q, %q, %v, %v", options, i, big, n, err, err2)
			}
		}
	}
}

// fillForAnswers stores values with long answers.
func fillForAnswers(t *testing.T, address string) {
	t.Helper()
	conn := dial(t, "tcp", address)
	element := strings.Repeat("x", 60_000)
	asks(t, conn, "SETRANGE big 16777215 x\r\nSET small x\r\nHSET hash f "+element+"\r\n", ":16777216\r\n+OK\r\n:1\r\n")
	for i := range 250 {
		asks(t, conn, "RPUSH list "+element+"\r\n", fmt.Sprintf(":%d\r\n", i+1))
	}
	for i := range 2000 {
		asks(t, conn, fmt.Sprintf("SET %s%d x\r\n", strings.Repeat("k", 900), i), "+OK\r\n")
	}
}

// peakKB returns the peak of the resident memory of a process.
func peakKB(t *testing.T, pid int) (kb int) {
	t.Helper()
	for line := range strings.Lines(proc(t, pid, "status")) {
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			return kb
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
