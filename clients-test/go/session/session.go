// Package session is shared by the clients: the addresses of the servers, the lines of
// output, the checks of replies, and the cases of single commands.
package session

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// The addresses of the servers, and the CA file of the certificate of TLSAddr.
// ClusterAddr and TLSAddr are empty without such a server. See ../README.md.
var (
	Addr         = os.Getenv("LIMITSRV_ADDR")
	PasswordAddr = os.Getenv("LIMITSRV_PASSWORD_ADDR")
	Password     = os.Getenv("LIMITSRV_PASSWORD")
	RestartAddr  = os.Getenv("LIMITSRV_RESTART_ADDR")
	ClusterAddr  = os.Getenv("LIMITSRV_CLUSTER_ADDR")
	TLSAddr      = os.Getenv("LIMITSRV_TLS_ADDR")
	TLSCA        = os.Getenv("LIMITSRV_TLS_CA")
)

// Case is a line of the output. Run panics with the failure, and is nil if the client
// has no support for the case.
type Case struct {
	Name string
	Run  func()
}

// Run runs the cases and exits, with 1 if a case fails.
func Run(cases []Case) {
	status := 0
	for _, c := range cases {
		if c.Name == "cluster" && ClusterAddr == "" {
			continue
		}
		if c.Run == nil {
			fmt.Println("none", c.Name)
		} else if wrong := attempt(c.Run); wrong != "" {
			fmt.Printf("FAIL %s: %s\n", c.Name, wrong)
			status = 1
		} else {
			fmt.Println("ok", c.Name)
		}
	}
	os.Exit(status)
}

func attempt(run func()) (wrong string) {
	defer func() {
		if p := recover(); p != nil {
			wrong = strings.ReplaceAll(fmt.Sprint(p), "\n", `\n`)
		}
	}()
	run()
	return ""
}

// Restart restarts the server at RestartAddr.
func Restart() {
	Check(exec.Command(os.Getenv("LIMITSRV_RESTART")).Run())
}

// Retry repeats ask until it succeeds, for up to 10 s.
func Retry(ask func() (any, error)) (any, error) {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		value, err := ask()
		if err == nil || time.Now().After(end) {
			return value, err
		}
	}
}

// Check fails the case if err is not nil.
func Check(err error) {
	if err != nil {
		Fail(err, "no error")
	}
}

// Must returns value, and fails the case if err is not nil.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Fail ends the case with a failure.
func Fail(got, want any) {
	panic(fmt.Sprintf("got %s, want %v", show(got), show(want)))
}

func show(value any) string {
	switch v := value.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []byte:
		return fmt.Sprintf("%q", v)
	case error:
		return fmt.Sprintf("error %q", v.Error())
	case L:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = show(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return fmt.Sprintf("%v", value)
}
