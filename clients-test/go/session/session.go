// Package session is what the clients share: the servers that they are given, the
// lines that they print, what is wanted of a reply, and those cases that any
// client writes alike.
package session

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Where the servers are, and what signs the certificate of TLSAddr; ClusterAddr and
// TLSAddr are empty if there is none. See ../README.md.
var (
	Addr         = os.Getenv("LIMITSRV_ADDR")
	PasswordAddr = os.Getenv("LIMITSRV_PASSWORD_ADDR")
	Password     = os.Getenv("LIMITSRV_PASSWORD")
	RestartAddr  = os.Getenv("LIMITSRV_RESTART_ADDR")
	ClusterAddr  = os.Getenv("LIMITSRV_CLUSTER_ADDR")
	TLSAddr      = os.Getenv("LIMITSRV_TLS_ADDR")
	TLSCA        = os.Getenv("LIMITSRV_TLS_CA")
)

// Case is a line of the output. Run panics with what is wrong, and is nil where the
// client has no such thing.
type Case struct {
	Name string
	Run  func()
}

// Run goes through cases, and ends the program with 1 if one fails.
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

// Restart has the server at RestartAddr started again.
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

// Check panics if there is an error.
func Check(err error) {
	if err != nil {
		Fail(err, "no error")
	}
}

// Must is what came without an error.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Fail ends a case.
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
