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

// A server is a redis-server or limitsrv without keys.
type server struct {
	address string
	process *exec.Cmd
	log     string
}

// start starts a server program and waits until it answers.
func start(ctx context.Context, program, folder string) (*server, error) {
	var err error
	for range startTries {
		var s *server
		if s, err = startAt(ctx, program, folder); err == nil {
			return s, nil
		}
	}
	return nil, err
}

func startAt(ctx context.Context, program, folder string) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	listener.Close()
	args := []string{"--listen", address}
	if filepath.Base(program) == "redis-server" {
		host, port, _ := net.SplitHostPort(address)
		args = []string{"--bind", host, "--port", port, "--save", "", "--dir", folder}
	}
	s := &server{address: address, process: exec.Command(program, args...),
		log: filepath.Join(folder, filepath.Base(program)+".log")}
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
		if answer, err := s.ask("PING"); err == nil && answer == "PONG" {
			return s, nil
		}
	}
	s.process.Process.Kill()
	s.process.Wait()
	said, _ := os.ReadFile(s.log)
	return nil, fmt.Errorf("%s does not answer at %s: %s", program, address, said)
}

// stop ends the server.
func (s *server) stop() error {
	s.process.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(stopTimeout, func() { s.process.Process.Kill() })
	defer timer.Stop()
	return s.process.Wait()
}

// kill ends the server at once.
func (s *server) kill() {
	s.process.Process.Kill()
	s.process.Wait()
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
