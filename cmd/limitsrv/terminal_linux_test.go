package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// A terminal is an interactive bash and the terminal that it runs on.
type terminal struct {
	master *os.File
	bash   *exec.Cmd
}

const (
	prompt = "\x01" // bash prints it before it reads a command
	pasted = "\x02" // the last command of each paste prints it
)

// openTerminal starts an interactive bash in a directory. If disk is a path, a small disk is
// there. The end of ctx hangs bash up.
func openTerminal(ctx context.Context, t *testing.T, dir, disk string, env ...string) *terminal {
	t.Helper()
	master, slave := newTerminal(t)
	bash := exec.CommandContext(ctx, "bash", "--norc", "--noprofile", "--noediting", "-i")
	bash.Stdin, bash.Stdout, bash.Stderr = slave, slave, slave
	bash.Dir = dir
	bash.Env = append(append(os.Environ(), env...), "PS1="+prompt, "PS2=", "HISTFILE=", "TERM=dumb")
	bash.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if disk != "" {
		withSmallDisk(t, bash, disk)
	}
	bash.Cancel, bash.WaitDelay = func() error { return bash.Process.Signal(syscall.SIGHUP) }, wait
	if err := bash.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	x := &terminal{master, bash}
	x.paste("stty -echo; trap 'kill $(jobs -p) 2>/dev/null' EXIT")
	return x
}

// newTerminal returns both ends of a new pseudoterminal.
func newTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	var number, locked uint32
	for request, argument := range map[uintptr]*uint32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &locked} {
		if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request,
			uintptr(unsafe.Pointer(argument))); err != 0 {
			t.Fatal(err)
		}
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// notices are bash's messages about jobs in the background.
var notices = regexp.MustCompile(`(?m)^\[\d+\](?:[-+]? +[A-Z].*| \d+)\n`)

// paste pastes lines, and returns the output of the terminal until bash has run them, without
// notices. An error means that bash ended before.
func (x *terminal) paste(lines string) (shown string, err error) {
	if _, err := x.master.WriteString(lines + "\nprintf '\\002'\n"); err != nil {
		return "", err
	}
	var all []byte
	piece := make([]byte, 4096)
	for {
		n, err := x.master.Read(piece)
		all = append(all, piece[:n]...)
		shown, rest, done := bytes.Cut(all, []byte(pasted))
		text := strings.NewReplacer("\r", "", prompt, "").Replace(string(shown))
		switch {
		case err != nil:
			return text, err
		case done && bytes.Contains(rest, []byte(prompt)):
			return notices.ReplaceAllString(text, ""), nil
		}
	}
}

// end ends the programs in the background, and bash.
func (x *terminal) end() error {
	_, err := x.paste("kill $(jobs -p) 2>/dev/null; wait; exit")
	if pathErr := new(os.PathError); errors.As(err, &pathErr) { // the terminal has no other end
		err = nil
	}
	return errors.Join(err, x.bash.Wait())
}
