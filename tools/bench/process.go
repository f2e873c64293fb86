package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A process is a server started, and later stopped, by this program.
type process struct {
	address string
	admin   string // the address of its profiles; empty: no profiles
	command *exec.Cmd
	stderr  bytes.Buffer
	exited  chan struct{} // closed once it has ended
	readyIn time.Duration // from its start to its first reply, with a resolution of 5 ms
}

// startWait bounds the time until a server answers. It may have to read much from disk.
const startWait = 5 * time.Minute

// endWait bounds the time until a server has saved its state and exited.
const endWait = 2 * time.Minute

// startProcess runs a server that listens at address and waits until it answers the
// command ready without an error; DBSIZE is answered LOADING while the server reads its
// state from disk. The server is killed when ctx or this process ends.
func startProcess(ctx context.Context, address, ready string, args ...string) (*process, error) {
	p := &process{
		address: address,
		command: exec.CommandContext(ctx, args[0], args[1:]...),
		exited:  make(chan struct{}),
	}
	p.command.Stderr = &p.stderr
	p.command.SysProcAttr = killWithParent()
	p.command.Cancel = func() error { return killAll(p.command.Process) }
	begin := time.Now()
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	go func() {
		p.command.Wait()
		close(p.exited)
	}()
	if err := p.waitReady(ctx, ready); err != nil {
		p.stop()
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(args[0]), err, lastLine(p.stderr.String()))
	}
	p.readyIn = time.Since(begin)
	return p, nil
}

// waitReady polls until the server answers command without an error.
func (p *process) waitReady(ctx context.Context, command string) error {
	var err error
	for deadline := time.Now().Add(startWait); time.Now().Before(deadline); {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.exited:
			return fmt.Errorf("ended at once (%s)", p.command.ProcessState)
		case <-time.After(5 * time.Millisecond):
		}
		var c *client
		if c, err = dial(p.address); err != nil {
			continue
		}
		_, err = c.do(command)
		c.conn.Close()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("does not answer after %v: %w", startWait, err)
}

// killAll kills a child and the processes that it has forked, for example the process that
// writes a snapshot of Redis and would outlive it.
func killAll(child *os.Process) error { return syscall.Kill(-child.Pid, syscall.SIGKILL) }

// stop kills the server and waits for its end. It may be called more than once.
func (p *process) stop() {
	select {
	case <-p.exited: // its process id may have been reused
		return
	default:
	}
	killAll(p.command.Process)
	<-p.exited
}

// awaitEnd waits until the server, which is shutting down, has exited successfully.
func (p *process) awaitEnd() error {
	select {
	case <-p.exited:
	case <-time.After(endWait):
		return fmt.Errorf("%s has not ended %v after SHUTDOWN", p.command.Path, endWait)
	}
	if !p.command.ProcessState.Success() {
		return fmt.Errorf("%s ended with %s: %s", p.command.Path, p.command.ProcessState, lastLine(p.stderr.String()))
	}
	return nil
}

// cpu returns the processor time used by all threads of the server.
func (p *process) cpu() (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.command.Process.Pid))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("no processor time of %s in /proc", p.command)
	}
	total := time.Duration(0)
	for _, name := range tasks {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has just ended
		}
		spent, err := parseSchedstat(string(text))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		total += spent
	}
	return total, nil
}

// cpus returns the processor time of each node.
func cpus(nodes []*process) (all []time.Duration, err error) {
	for _, p := range nodes {
		used, err := p.cpu()
		if err != nil {
			return nil, err
		}
		all = append(all, used)
	}
	return all, nil
}

// residentBytes returns the resident memory of the server.
func (p *process) residentBytes() (int64, error) {
	name := fmt.Sprintf("/proc/%d/statm", p.command.Process.Pid)
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("%s: %q has no second field", name, text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// peakBytes returns the peak resident memory of the server.
func (p *process) peakBytes() (int64, error) {
	return memoryIn(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid), "VmHWM:")
}

// memoryIn returns the bytes in the line of a file of /proc that begins with a name.
func memoryIn(file, name string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	bytes, err := parseMemory(string(text), name)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	return bytes, nil
}

// parseMemory parses the line of text that is name, blanks and "1234 kB".
func parseMemory(text, name string) (int64, error) {
	_, after, found := strings.Cut(text, name)
	line, _, _ := strings.Cut(after, "\n")
	fields := strings.Fields(line)
	if !found || len(fields) != 2 || fields[1] != "kB" {
		return 0, fmt.Errorf("no %s in kB", name)
	}
	kilobytes, err := strconv.ParseInt(fields[0], 10, 64)
	return kilobytes << 10, err
}

// parseSchedstat returns the run time of a thread: the first field of its schedstat, in
// nanoseconds (Documentation/scheduler/sched-stats.rst).
func parseSchedstat(text string) (time.Duration, error) {
	first, _, _ := strings.Cut(text, " ")
	nanos, err := strconv.ParseInt(first, 10, 64)
	return time.Duration(nanos), err
}

// ownCPU returns the processor time used by this process and its finished children.
func ownCPU() time.Duration {
	var total time.Duration
	for _, target := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if syscall.Getrusage(target, &used) == nil {
			total += time.Duration(used.Utime.Nano() + used.Stime.Nano())
		}
	}
	return total
}

// haveFiles returns an error if this process, and thus a server that it starts, can't
// have n files open. The Go runtime has already raised the soft limit to the hard
// limit.
func haveFiles(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	if limit.Cur < uint64(n) {
		return fmt.Errorf("%d open files are needed, and this machine allows %d; see ulimit -n, or reduce -siege-conns", n,
			limit.Cur)
	}
	return nil
}

// lastLine returns the last line of text that is not empty.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
