package session

import (
	"fmt"
	"strings"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/spec"
	"limitsrv/commands/waiting"
	"limitsrv/engine"
)

// A Run is the body of a command that needs more than decisions. It writes one reply to w, the
// session's writer. The ops of earlier commands have been executed.
type Run func(s *Session, w *resp.Writer, args [][]byte)

// A Special is a Run with a part that EXEC, or a login, must know before.
type Special struct {
	Run Run
	// Ahead, unless nil, is called by EXEC before the ops of later commands are made; Run
	// follows in its place among the replies.
	Ahead func(s *Session, args [][]byte)
	// Login, unless nil, returns the user and the password of a line for which Run calls
	// Session.Login; ok is false for a line that does not.
	Login func(s *Session, args [][]byte) (name, password []byte, ok bool)
}

// Asks are the body of a command that is decided by rules. Parse parses a line into a request, as
// spec.Ops.Parse. Reply writes the reply; headers are working memory. ID returns the index of the id,
// which is the line's only key, or 0 if the line has no id. Parse finds an id only there.
type Asks struct {
	ID    func(line [][]byte) int
	Parse func(a *Ask, q *checks.Request, args [][]byte) error
	Reply func(w *resp.Writer, a *Ask, answer *checks.Answer, headers *checks.Headers)
}

// Body implements spec.Body.
func (Run) Body() {}

// Body implements spec.Body.
func (*Special) Body() {}

// Body implements spec.Body.
func (*Asks) Body() {}

// A body has the parts of a spec.Body. Its command is an op command, with Op, perhaps with Reply, or
// with Asks, or a run command, with Run. A container has a Run if its bare name is a command.
type body struct {
	Op      func(b *engine.Batch, args [][]byte) error
	Reply   func(w *resp.Writer, ops []engine.Op, ds []engine.Decision)
	Hide    func(answer []byte, may func(name []byte) bool) []byte // of spec.Ops
	Asks    *Asks
	Run     Run
	Ahead   func(s *Session, args [][]byte)
	Login   func(s *Session, args [][]byte) (name, password []byte, ok bool)
	Wait    *waiting.Command
	HasWork bool // the command is a Call with Work
}

// bodyOf returns the parts of the body of a command.
func bodyOf(c *spec.Command) (b body) {
	switch x := c.Body.(type) {
	case *spec.Ops:
		b.Op, b.Reply, b.Hide = x.Parse, x.Reply, x.Hide
	case *spec.Call:
		b.Op = func(b *engine.Batch, args [][]byte) error {
			c.SetCall(b.AddCall(0), args[1:])
			return nil
		}
		b.HasWork = x.Work != nil
		if x.Wait != nil {
			b.Wait = &waiting.Command{Timeout: timeoutOf(x.Wait), Take: b.Op,
				Return: func(b *engine.Batch, key, element []byte) {
					x.Wait.Return(b.AddCall(0), key, element)
				}}
		}
	case *Asks:
		b.Asks = x
	case Run:
		b.Run = x
	case *Special:
		b.Run, b.Ahead, b.Login = x.Run, x.Ahead, x.Login
	case *spec.Container:
		b.Run, _ = x.Bare.(Run)
	default:
		panic(fmt.Sprintf("command table: %s has the body %T", c.Name, x))
	}
	return b
}

// timeoutOf returns a function that reads the timeout of a line.
func timeoutOf(w *spec.Wait) func(line [][]byte) (time.Duration, error) {
	return func(line [][]byte) (time.Duration, error) {
		d, wrong := w.Timeout(line[len(line)-1])
		if wrong != "" {
			code, text, _ := strings.Cut(wrong, " ")
			return 0, resp.NewError(code, text)
		}
		return d, nil
	}
}

// HasOps reports whether the command is an op command.
func (c *Spec) HasOps() bool { return c.Op != nil || c.Asks != nil }
