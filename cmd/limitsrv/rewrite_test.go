package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigRewrite(t *testing.T) {
	asks(t, dial(t, "tcp", serve(t).address), "CONFIG REWRITE\r\n", "-ERR The server is running without a config file\r\n")

	dir := t.TempDir()
	file := filepath.Join(dir, "limitsrv.yaml")
	rewriteConfig(t, file, "# clients\nmax-clients: 50 # at once\npassword: hunter2\n")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	rewriteConfig(t, file+".rewriting",
		"what a process that was killed has left, longer than the file is to be: "+strings.Repeat("x", 1000))
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	r := serve(t, "--config", link, "--write-timeout", "7s")
	conn := dial(t, "tcp", r.address)
	asks(t, conn, "AUTH hunter2\r\nCONFIG REWRITE\r\n", "+OK\r\n+OK\r\n")
	asks(t, conn, "CONFIG SET max-clients 60 timeout 90 maxmemory 64mb log-level debug write-timeout 200ms\r\n", "+OK\r\n")
	asks(t, conn, "MULTI\r\nCONFIG REWRITE\r\nDISCARD\r\n",
		"+OK\r\n-ERR Command not allowed inside a transaction\r\n+OK\r\n")
	asks(t, conn, "CONFIG REWRITE\r\n", "+OK\r\n")
	const want = "# clients\nmax-clients: 60 # at once\npassword: hunter2\nidle-timeout: 90s\nlog-level: " +
		"debug\nmax-memory: 64mb\nwrite-timeout: 0.2s\n"
	if got, err := os.ReadFile(file); string(got) != want || err != nil {
		t.Errorf("the file is\n%s%v, want\n%s", got, err, want)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link to the file = %v, %v, want a link", info, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file = %v, %v, want its mode unchanged", info, err)
	}
	r.log.Await(t, `option=write-timeout overridden_by="command line"`)
	if all, err := os.ReadDir(dir); len(all) != 1 || err != nil {
		t.Errorf("the directory has %v, %v, want only the file", all, err)
	}

	asks(t, conn, "CONFIG SET drain 1\r\n", "+OK\r\n")
	rewriteConfig(t, file, "max-clients: [60\n")
	asks(t, conn, "CONFIG REWRITE\r\n",
		"-ERR Rewriting config file: "+link+":2: not YAML: did not find expected ',' or ']'\r\n")
	if strings.Contains(r.logged(), "hunter2") {
		t.Errorf("the log has the password\n%s", r.logged())
	}
}
