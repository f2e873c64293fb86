package main

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// An imageSpec is the image defined by the last stage of the Dockerfile.
type imageSpec struct {
	user              uint32
	settings          []string // environment variables
	data              string
	entrypoint, probe []string
}

// readDockerfile reads the last stage of the Dockerfile, and checks that its sources
// exist.
func readDockerfile(t *testing.T) (r imageSpec) {
	t.Helper()
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	words := func(line string) (all []string) {
		if err := json.Unmarshal([]byte(line[strings.Index(line, "["):]), &all); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return all
	}
	for line := range strings.Lines(string(text)) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		fields := strings.Fields(rest)
		switch instruction {
		case "FROM":
			r = imageSpec{}
		case "COPY":
			for _, source := range fields[:len(fields)-1] {
				if strings.HasPrefix(rest, "--from") {
					break
				}
				if _, err := os.Stat(filepath.Join("../..", source)); err != nil {
					t.Errorf("%q: %v", line, err)
				}
			}
		case "ENV":
			r.settings = append(r.settings, fields...)
		case "USER":
			id, _, _ := strings.Cut(rest, ":")
			n, err := strconv.ParseUint(id, 10, 32)
			if err != nil || n == 0 {
				t.Errorf("the user is %q, want a number other than 0", rest)
			}
			r.user = uint32(n)
		case "VOLUME":
			r.data = rest
		case "ENTRYPOINT":
			r.entrypoint = words(rest)
		case "HEALTHCHECK":
			r.probe = words(rest)
		}
	}
	return r
}

// This test reproduces the image: the static binary alone in an empty root directory, as
// an unprivileged user, started and probed like in the Dockerfile.
func TestStaticBinaryInEmptyRoot(t *testing.T) {
	testwait.Long(t)
	r, root := readDockerfile(t), t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(root, r.entrypoint[0]), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false -pgo=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data := filepath.Join(root, r.data)
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	user := &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: r.user, Gid: r.user}}
	if os.Getuid() != 0 { // may change the root in a namespace of users
		user.Cloneflags, user.Credential.NoSetGroups = syscall.CLONE_NEWUSER, true
		user.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(r.user), HostID: os.Getuid(), Size: 1}}
		user.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(r.user), HostID: os.Getgid(), Size: 1}}
	} else if err := os.Chown(data, int(r.user), int(r.user)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(freeAddressOf(t, ""))
	inside := func(args []string, settings ...string) *exec.Cmd {
		command := exec.Command(args[0], args[1:]...)
		command.Dir = "/"
		command.Env = append(append(r.settings, "LIMITSRV_LISTEN=0.0.0.0:"+port), settings...)
		command.SysProcAttr = user
		return command
	}
	if _, log, code := runs(t, inside(r.entrypoint)); code != exitUsage || !strings.Contains(log, "--unprotected") {
		t.Errorf("without a password: exit %d, %q, want 2 and the missing options", code, log)
	}
	const password = "LIMITSRV_PASSWORD=hunter2"
	server := &running{Cmd: inside(r.entrypoint, password), ended: make(chan struct{})}
	server.Stderr = &server.log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		server.Wait()
		close(server.ended)
	}()
	defer server.Process.Kill()
	until(t, "the state is loaded",
		func() bool { return strings.Contains(server.logged(), "state loaded") || server.isOver() })
	until(t, "the probe succeeds", func() bool {
		_, _, code := runs(t, inside(r.probe, password))
		return code == exitOK || server.isOver()
	})
	asks(t, dial(t, "tcp", "127.0.0.1:"+port), "AUTH hunter2\r\nRL.TOKEN k 1 1/h\r\n",
		"+OK\r\n*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:3600000\r\n")
	server.Process.Signal(syscall.SIGTERM)
	if code := server.exit(t); code != exitOK {
		t.Errorf("exit %d, want 0\n%s", code, server.logged())
	}
	if files, err := filepath.Glob(data + "/*"); err != nil || len(files) == 0 {
		t.Errorf("%s has %d files, %v, want the state", data, len(files), err)
	}
	if _, log, code := runs(t, inside(r.probe, password)); code != exitFailure {
		t.Errorf("the probe of a server that has ended: exit %d, %q, want 1", code, log)
	}
}

// unit is the file of the systemd unit.
const unit = "../../deploy/limitsrv.service"

// The unit starts the server with valid options. systemd must accept the unit and rate it as
// hardened.
func TestServiceUnit(t *testing.T) {
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	start := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/limitsrv (.*)$`).FindSubmatch(text)
	if start == nil {
		t.Fatal("the unit does not start limitsrv")
	}
	args := append(strings.Fields(string(start[1])), "--version")
	if _, log, code := runs(t, limitsrv(nil, args...)); code != exitOK {
		t.Errorf("%q: exit %d, %q", args, code, log)
	}
	for _, want := range []string{"Type=notify", "ExecReload=/bin/kill -HUP $MAINPID", "Restart=always",
		"RestartPreventExitStatus=" + strconv.Itoa(exitUsage) + " " + strconv.Itoa(exitPoison)} {
		if !strings.Contains(string(text), "\n"+want+"\n") {
			t.Errorf("the unit has no line %s", want)
		}
	}
	analyze := testwait.Program(t, "systemd-analyze")
	name := filepath.Join(t.TempDir(), "limitsrv.service")
	if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(text), "/usr/bin/limitsrv", os.Args[0])),
		0o644); err != nil {
		t.Fatal(err)
	}
	const mostExposed = "20" // exposure of at most 100, as rated by systemd
	if out, err := exec.Command(analyze, "verify", name).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	if out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold="+mostExposed,
		name).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}
