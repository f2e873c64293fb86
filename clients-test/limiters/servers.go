package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 30 * time.Second
	startTries   = 10 // with other ports
)

const redisServer = "redis-server"

// A program is a redis-server, a limitsrv, or a front of limitsrv.
type program struct {
	path  string
	front bool
}

func (p program) isRedis() bool { return filepath.Base(p.path) == redisServer }

// A server is a redis-server or limitsrv without keys.
type server struct {
	node    *server // before which this front is; nil: it is no front
	address string
	process *exec.Cmd
	log     string
}

// start starts a server program and waits until it answers.
func start(ctx context.Context, p program, folder string) (*server, error) {
	var err error
	for range startTries {
		var s *server
		if s, err = startAt(ctx, p, folder); err == nil {
			return s, nil
		}
	}
	return nil, err
}

func startAt(ctx context.Context, p program, folder string) (*server, error) {
	if p.front {
		return startFront(ctx, p.path, folder)
	}
	return startWith(ctx, p, folder)
}

// startFront starts a front before a node of a cluster of one.
func startFront(ctx context.Context, path, folder string) (*server, error) {
	raft, err := freeAddress()
	if err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp(folder, "node-")
	if err != nil {
		return nil, err
	}
	node, err := startWith(ctx, program{path: path}, data,
		"--data", filepath.Join(data, "data"), "--raft", raft, "--peers", raft)
	if err != nil {
		return nil, err
	}
	front, err := startWith(ctx, program{path: path}, folder, "--front", raft)
	if err != nil {
		node.kill()
		return nil, err
	}
	front.node = node
	return front, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// startWith starts a program with further options of limitsrv.
func startWith(ctx context.Context, p program, folder string, options ...string) (*server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	args := append([]string{"--listen", address}, options...)
	ready := "ready:1"
	if p.isRedis() {
		host, port, _ := net.SplitHostPort(address)
		args = []string{"--bind", host, "--port", port, "--save", "", "--dir", folder}
		ready = "redis_version"
	}
	s := &server{address: address, process: exec.Command(p.path, args...),
		log: filepath.Join(folder, filepath.Base(p.path)+".log")}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.process.Stdout, s.process.Stderr = log, log
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(startTimeout); time.Now().Before(end) &&
		ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if answer, err := s.ask("INFO", "server"); err == nil && strings.Contains(answer, ready) {
			return s, nil
		}
	}
	s.kill()
	said, _ := os.ReadFile(s.log)
	return nil, fmt.Errorf("%s does not get ready at %s: %s", p.path, address, said)
}

// stop ends the server.
func (s *server) stop() error {
	s.process.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(stopTimeout, func() { s.process.Process.Kill() })
	defer timer.Stop()
	err := s.process.Wait()
	if s.node != nil {
		err = errors.Join(err, s.node.stop())
	}
	return err
}

// kill ends the server at once.
func (s *server) kill() {
	s.process.Process.Kill()
	s.process.Wait()
	if s.node != nil {
		s.node.kill()
	}
}

// ask sends a command, given as words, and returns its answer: a simple or bulk string.
func (s *server) ask(words ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", s.address, startTimeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(startTimeout))
	if _, err := io.WriteString(conn, strings.Join(words, " ")+"\r\n"); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	switch {
	case strings.HasPrefix(line, "+"):
		return line[1:], nil
	case strings.HasPrefix(line, "$"):
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "", fmt.Errorf("answer %q", line)
		}
		text := make([]byte, n)
		_, err = io.ReadFull(r, text)
		return string(text), err
	}
	return "", errors.New(line)
}

// processed returns the number of commands that the server has executed.
func (s *server) processed() (int, error) {
	text, err := s.ask("INFO", "stats")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if number, found := strings.CutPrefix(strings.TrimSpace(line), "total_commands_processed:"); found {
			return strconv.Atoi(number)
		}
	}
	return 0, errors.New("INFO has no total_commands_processed")
}

// commands returns the names of the commands that a redis-server has executed, including
// commands of scripts.
func (s *server) commands() ([]string, error) {
	text, err := s.ask("INFO", "commandstats")
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(text) {
		name, _, found := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		if found && strings.Contains(line, "calls=") {
			names = append(names, name)
		}
	}
	return names, nil
}
