package lua_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/bitops"
	"limitsrv/commands/scripts/lua/cjson"
	"limitsrv/commands/scripts/lua/cstruct"
	"limitsrv/commands/scripts/lua/library"
	"limitsrv/commands/scripts/lua/value"
	"limitsrv/internal/testing/redistest"
	"limitsrv/internal/testing/testwait"
)

// A realRedis is a connection to Debian's redis-server, which runs for a test.
type realRedis struct {
	t  testing.TB
	nc net.Conn
	in *bufio.Reader
}

func startRedis(t testing.TB) *realRedis {
	t.Helper()
	nc, err := net.Dial("tcp", redistest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return &realRedis{t, nc, bufio.NewReader(nc)}
}

// suffix is the end of errors of scripts, which names hash and line.
var suffix = regexp.MustCompile(` script: [0-9a-f]{40}, on (.*)\.$`)

// addresses are the texts of tables and functions.
var addresses = regexp.MustCompile(`(function|table): 0x[0-9a-f]+`)

// eval returns the reply to a script, as show writes it.
func (r *realRedis) eval(script string) string {
	r.t.Helper()
	fmt.Fprintf(r.nc, "*5\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n1\r\n$1\r\nk\r\n$1\r\na\r\n", len(script), script)
	_ = r.nc.SetReadDeadline(testwait.Soon(redistest.Patience))
	reply, err := r.read()
	if err != nil {
		r.t.Fatalf("%s\nRedis: %v", script, err)
	}
	return addresses.ReplaceAllString(reply, "$1")
}

func (r *realRedis) read() (string, error) {
	line, err := r.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	switch n, _ := strconv.Atoi(line[1:]); line[0] {
	case '-':
		message := suffix.ReplaceAllString(line[1:], " [$1]")
		if strings.HasPrefix(message, "ERR Error compiling") {
			message = strings.TrimPrefix(message, "ERR Error compiling script (new function): ")
		}
		return "error " + message, nil
	case '$':
		if n < 0 {
			return "nil", nil
		}
		text := make([]byte, n+2)
		_, err := io.ReadFull(r.in, text)
		return strconv.Quote(string(text[:n])), err
	case '*':
		parts := make([]string, n)
		for i := range parts {
			if parts[i], err = r.read(); err != nil {
				return "", err
			}
		}
		return "{" + strings.Join(parts, ", ") + "}", nil
	default:
		return line, nil
	}
}

// newEnv returns an environment as Redis has it, without its commands.
func newEnv() (env *lua.Env, keys, argv int) {
	env = lua.NewEnv(lua.Texts{MissingGlobal: "Script attempted to access nonexistent global variable '%s'",
		ReadOnly: "Attempt to modify a readonly table"})
	library.Open(env, library.Options{ErrorField: "err"})
	bitops.Open(env)
	cjson.Open(env)
	cstruct.Open(env)
	return env, env.Variable("KEYS"), env.Variable("ARGV")
}

var generous = lua.Limits{Steps: 20_000_000, Memory: 256 << 20}

// ours runs scripts as realRedis.eval does.
type ours struct {
	env        *lua.Env
	st         *lua.State
	keys, argv int
}

func newOurs() *ours {
	env, keys, argv := newEnv()
	return &ours{env, lua.NewState(env), keys, argv}
}

func (o *ours) eval(script string) string {
	chunk, err := lua.Compile(o.env, []byte(script), "@user_script")
	if err != nil {
		return "error " + err.Error()
	}
	o.st.Reset(generous)
	setLists(o.st, o.keys, o.argv, [][]byte{[]byte("k"), []byte("a")}, 1)
	results, err := o.st.Run(chunk)
	if err != nil {
		return showError(err.(*lua.Error))
	}
	if len(results) == 0 {
		return "nil"
	}
	return addresses.ReplaceAllString(show(results[0]), "$1")
}

// limited is the result of a script that passes a limit, because Redis has no limits, and
// of other scripts that Redis cannot run.
const limited = "limit"

// showError writes an error as Redis' handler does.
func showError(e *lua.Error) string {
	message := "ERR " + e.Error()
	if t, ok := e.Value.Table(); ok {
		if s, ok := t.GetString(value.NewString("err")).String(); ok {
			message = string(s.Bytes())
		} else {
			return limited // Redis 7.0 crashes
		}
	} else if e.Limit == lua.NoLimit {
		switch e.Value.Kind() {
		case value.NilKind:
			message = "ERR nil"
		case value.BooleanKind:
			message = fmt.Sprint("ERR ", e.Value.Truth())
		}
	}
	if e.Limit != lua.NoLimit {
		return limited
	}
	message, _, _ = strings.Cut(message, "\x00")
	message = strings.NewReplacer("\n", " ", "\r", " ").Replace(message)
	return fmt.Sprintf("error %s [%s:%d]", message, e.Source, e.Line)
}

// show writes a value as Redis would reply it.
func show(v value.Value) string {
	switch v.Kind() {
	case value.NumberKind:
		return fmt.Sprintf(":%d", int64(v.Float()))
	case value.StringKind:
		s, _ := v.String()
		return strconv.Quote(string(s.Bytes()))
	case value.BooleanKind:
		if v.Truth() {
			return ":1"
		}
	case value.TableKind:
		t, _ := v.Table()
		var b bytes.Buffer
		b.WriteByte('{')
		for i := 1; !t.GetInt(i).IsNil(); i++ {
			if i > 1 {
				b.WriteString(", ")
			}
			b.WriteString(show(t.GetInt(i)))
		}
		b.WriteByte('}')
		return b.String()
	}
	return "nil"
}
