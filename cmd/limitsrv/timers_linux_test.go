package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// asSlack is the environment variable that makes TestRestartWithTimerSlack print its timer
// slack, its process id and its last argument after restartWithTimerSlack.
const asSlack = "LIMITSRV_TEST_SLACK"

func printSlack() {
	_, again := os.LookupEnv(slackSet)
	restartWithTimerSlack()
	_, left := os.LookupEnv(slackSet)
	fmt.Println(slackOfThread(), os.Getpid(), again, left, os.Args[len(os.Args)-1])
	os.Exit(0)
}

func slackOfThread() int {
	slack, _, _ := syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
	return int(slack)
}

// The program is executed again once, as the same process and with its arguments.
func TestRestartWithTimerSlack(t *testing.T) {
	if os.Getenv(asSlack) != "" {
		printSlack()
	}
	for _, tt := range []struct {
		name  string
		env   []string
		slack int
	}{
		{"first", nil, timerSlack},
		{"the kernel has not kept it", []string{slackSet + "=1"}, slackOfThread()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			command := exec.Command(os.Args[0], "-test.run", "^TestRestartWithTimerSlack$", "last")
			command.Env = append([]string{asSlack + "=1"}, tt.env...)
			command.Stdout = &out
			if err := command.Run(); err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("%d %d true false last\n", tt.slack, command.Process.Pid); out.String() != want {
				t.Errorf("%q, want %q", out.String(), want)
			}
		})
	}
}

// A node of a cluster is started with the slack, a single server is not.
func TestTimerSlackOfServers(t *testing.T) {
	peer := freeAddressOf(t, "127.0.0.1")
	for _, tt := range []struct {
		args []string
		want bool
	}{
		{nil, false},
		{[]string{"--data", t.TempDir(), "--raft", peer, "--peers", peer}, true},
	} {
		s := launch(t, tt.args...)
		until(t, "the server listens", func() bool {
			nc, err := net.Dial("tcp", s.address)
			if err == nil {
				nc.Close()
			}
			return err == nil
		})
		started, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(started), slackSet); got != tt.want {
			t.Errorf("%q: timer slack %v, want %v", tt.args, got, tt.want)
		}
	}
}
