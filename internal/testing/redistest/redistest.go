// Package redistest starts Debian's redis-server for tests that compare answers with it.
package redistest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"limitsrv/internal/testing/freeport"
	"limitsrv/internal/testing/testwait"
)

// Patience bounds the start of Redis, and a test's wait for a reply, on an idle machine.
const Patience = 10 * time.Second

// Start starts a redis-server without persistence, with further options, until the test
// ends, and returns its address.
func Start(t testing.TB, options ...string) (address string) {
	t.Helper()
	path := testwait.Program(t, "redis-server")
	address, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address)
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command(path,
		append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", dir}, options...)...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	testwait.Retry(t, Patience, func() error {
		nc, err := net.Dial("tcp", address)
		if err != nil {
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("redis-server does not listen: %v\n%s", err, text)
		}
		return nc.Close()
	})
	return address
}
