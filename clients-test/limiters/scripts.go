package main

import (
	"bufio"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A monitor stores the Lua scripts that clients send to a redis-server: SHA1.lua for each
// script, and the file calls with a line for each call: the SHA1 and the arguments of
// EVALSHA, quoted as Go quotes strings and separated by blanks.
type monitor struct {
	conn  net.Conn
	done  chan error
	known map[string]bool // hashes of stored scripts
}

// watch begins to store the scripts sent to address.
func watch(address, folder string) (*monitor, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	calls, err := os.Create(filepath.Join(folder, "calls"))
	if err != nil {
		return nil, err
	}
	conn, err := net.DialTimeout("tcp", address, startTimeout)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, "MONITOR\r\n"); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(conn)
	if answer, err := lines.ReadString('\n'); err != nil || answer != "+OK\r\n" {
		return nil, fmt.Errorf("MONITOR answers %q, %v", answer, err)
	}
	m := &monitor{conn: conn, done: make(chan error, 1), known: map[string]bool{}}
	go func() {
		m.done <- errors.Join(m.store(lines, folder, calls), calls.Close())
	}()
	return m, nil
}

// end returns once all lines before it are stored.
func (m *monitor) end() error {
	m.conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	err := <-m.done
	m.conn.Close()
	return err
}

// store reads lines until the deadline of end.
func (m *monitor) store(lines *bufio.Reader, folder string, calls io.Writer) error {
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		_, command, found := strings.Cut(line, "] ")
		if !found || strings.Contains(line, " lua] ") {
			continue
		}
		words, err := unquote(command)
		if err != nil {
			return fmt.Errorf("MONITOR: %w", err)
		}
		if err := m.take(words, folder, calls); err != nil {
			return err
		}
	}
}

// take stores the script or the call of a command.
func (m *monitor) take(words []string, folder string, calls io.Writer) error {
	var script, hash string
	switch name := strings.ToLower(words[0]); {
	case name == "eval":
		script = words[1]
	case name == "script" && strings.ToLower(words[1]) == "load":
		script = words[2]
	case name == "evalsha":
		hash = strings.ToLower(words[1])
	default:
		return nil
	}
	if script != "" {
		hash = fmt.Sprintf("%x", sha1.Sum([]byte(script)))
		if !m.known[hash] {
			m.known[hash] = true
			if err := os.WriteFile(filepath.Join(folder, hash+".lua"), []byte(script), 0o644); err != nil {
				return err
			}
		}
	}
	if strings.EqualFold(words[0], "script") {
		return nil
	}
	line := hash
	for _, word := range words[2:] {
		line += " " + strconv.Quote(word)
	}
	_, err := io.WriteString(calls, line+"\n")
	return err
}

// unquote splits a line of quoted words.
func unquote(line string) (words []string, err error) {
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimLeft(rest, " ") {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", rest, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", quoted, err)
		}
		words, rest = append(words, word), rest[len(quoted):]
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("no words in %q", line)
	}
	return words, nil
}
