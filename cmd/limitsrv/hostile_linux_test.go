package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

const (
	maxResident = 200 << 10 // in kB
	attackers   = 40        // of each kind
)

// TestHostileBytesAgainstTheProgram attacks the program itself, without the race
// detector: it must keep serving, within its memory, and be idle after the attack.
func TestHostileBytesAgainstTheProgram(t *testing.T) {
	testwait.Long(t)
	address, pid := startProgram(t, buildProgram(t), "--password", "secret")
	const login = "AUTH secret\r\n"
	for _, prefix := range []string{"", login} {
		attack(t, address, prefix)
		conn := dial(t, "tcp", address)
		asks(t, conn, login+"PING\r\n", "+OK\r\n+PONG\r\n")
		if kb := residentKB(t, pid); kb > maxResident {
			t.Errorf("after %q the server holds %d kB, want at most %d", prefix, kb, maxResident)
		}
	}
	testwait.Retry(t, wait, func() error { // on a busy machine its input may still be executed
		before := cpuTicks(t, pid)
		time.Sleep(time.Second)
		if spent := cpuTicks(t, pid) - before; spent > 10 {
			return fmt.Errorf("the idle server uses %d0 ms of CPU per second", spent)
		}
		return nil
	})
}

// buildProgram builds the program without the race detector, and returns its path.
func buildProgram(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "limitsrv")
	if out, err := exec.Command("go", "build", "-pgo=off", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// startProgram starts a built program with options until the end of the test. It returns the
// program's address and its process.
func startProgram(t *testing.T, binary string, options ...string) (address string, pid int) {
	t.Helper()
	address = freeAddress(t)
	server := exec.Command(binary, append([]string{"--listen", address, "--log-level", "error"}, options...)...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	until(t, "it listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return address, server.Process.Pid
}

// attack sends hostile bytes from many connections concurrently: lengths beyond the
// data, floods, noise, incomplete commands, and slow bytes.
func attack(t *testing.T, address, prefix string) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	payloads := []string{
		"*1\r\n$9223372036854775807\r\n",
		"*4000000000000000000\r\n",
		"*1000000000\r\n$1\r\na\r\n",
		"*18446744073709551617\r\n$4\r\nPING\r\n",
		"*3\r\n$8\r\nRL.TOKEN\r\n$1000000000\r\n" + strings.Repeat("x", 1<<20),
		"*16384\r\n" + strings.Repeat("$60000\r\n"+strings.Repeat("y", 60000)+"\r\n", 20),
		strings.Repeat(" ", 1<<20) + "\r\n",
		strings.Repeat("*0\r\n\r\n*-1\r\n", 100_000),
		string(noise),
		"*5\r\n$10\r\n" + string(noise[:1<<16]),
		strings.Repeat("RL.TOKEN k -1 x \"\\xff\r\n", 20_000),
		strings.Repeat("INFO\r\nCOMMAND DOCS\r\n", 2_000), // without reading
	}
	var all sync.WaitGroup
	for _, payload := range payloads {
		for range attackers {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			conn.SetDeadline(time.Now().Add(3 * time.Second))
			all.Go(func() {
				defer conn.Close()
				io.WriteString(conn, prefix+payload)
			})
		}
	}
	for range attackers {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(3 * time.Second))
		all.Go(func() {
			defer conn.Close()
			io.WriteString(conn, prefix+"*10000\r\n$9\r\n")
			for range 10_000 {
				if _, err := conn.Write([]byte{'$'}); err != nil {
					return
				}
			}
		})
	}
	all.Wait()
}

func residentKB(t *testing.T, pid int) (kb int) {
	t.Helper()
	for line := range strings.Lines(proc(t, pid, "status")) {
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kb); n == 1 {
			return kb
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// cpuTicks returns the CPU time of a process, in hundredths of a second.
func cpuTicks(t *testing.T, pid int) int {
	t.Helper()
	var user, system int
	_, fields, _ := strings.Cut(proc(t, pid, "stat"), ") ")
	if _, err := fmt.Sscanf(fields, "%1s %d %d %d %d %d %d %d %d %d %d %d %d", new(string), new(int), new(int), new(int),
		new(int), new(int), new(uint), new(int), new(int), new(int), new(int), &user, &system); err != nil {
		t.Fatal(err)
	}
	return user + system
}

func proc(t *testing.T, pid int, file string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
