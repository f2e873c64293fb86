package lua

import (
	"fmt"

	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/value"
)

// A Failure is an error while it passes through the calls. Its value is valid until the
// next Failure.
type Failure struct {
	// Value is the argument of the function error, or a message.
	Value value.Value

	limit  LimitKind
	source string
	line   int
}

// An Error is how a run ended: an error of the script, or a passed limit.
type Error struct {
	// Value is the argument of the function error, or a message that begins with chunk and
	// line. It is valid until the next run, and nil if a limit was passed.
	Value value.Value
	// Limit is the limit that was passed.
	Limit LimitKind
	// Source is the name that the chunk was given, and Line the line of the function of Lua
	// that failed or called a failing function. Line is 0 outside of functions of Lua.
	Source string
	Line   int
	text   string
}

// Error returns the message, or a description of a value that is no string.
func (e *Error) Error() string { return e.text }

// publish makes an Error of a failure.
func (failure *Failure) publish(st *State) *Error {
	e := &Error{Value: failure.Value, Limit: failure.limit, Source: failure.source, Line: failure.line}
	switch s, ok := failure.Value.String(); {
	case e.Limit != NoLimit:
		e.text = st.env.LimitText(e.Limit, st.limits)
	case ok:
		e.text = string(s.Bytes())
	case failure.Value.IsNumber():
		e.text = string(number.Append(nil, failure.Value.Float()))
	default:
		e.text = fmt.Sprintf("(error object is a %s value)", failure.Value.Kind())
	}
	return e
}

// exceed ends the run since a limit is passed.
func (st *State) exceed(limit LimitKind) { panic(st.passed(limit)) }

// passed returns the failure of a passed limit.
func (st *State) passed(limit LimitKind) *Failure {
	st.failure = Failure{limit: limit}
	st.locate(&st.failure)
	return &st.failure
}

// locate fills in the function of Lua that is running.
func (st *State) locate(failure *Failure) {
	for i := st.depth - 1; i >= 0; i-- {
		if f := st.frames[i]; f.closure != nil {
			failure.source, failure.line = f.closure.proto.source, f.site.line
			return
		}
	}
}

// Position returns the name of the chunk and the line of the function of Lua that is
// running. The line is 0 outside of functions of Lua.
func (st *State) Position() (source string, line int) {
	var here Failure
	st.locate(&here)
	return here.source, here.line
}

// Raise raises an error with any value. It does not return.
func (st *State) Raise(v value.Value) {
	st.failure = Failure{Value: v}
	st.locate(&st.failure)
	panic(&st.failure)
}

// Errorf raises an error with a message after chunk and line of the caller in Lua. It does
// not return.
func (st *State) Errorf(format string, args ...any) {
	st.Raise(st.NewText(st.Where(1) + fmt.Sprintf(format, args...)))
}

// ErrorText raises an error with a message only. It does not return.
func (st *State) ErrorText(message string) { st.Raise(st.NewText(message)) }

// errorAt raises an error of an operation of the top frame.
func (st *State) errorAt(at *site, format string, args ...any) {
	if at == nowhere {
		st.ErrorText(fmt.Sprintf(format, args...))
	}
	st.setSite(at)
	st.Errorf(format, args...)
}

// setSite records where the top frame is. Functions of Go, which run in the frame of their
// caller, pass nowhere.
func (st *State) setSite(at *site) {
	if at != nowhere {
		st.frames[st.depth-1].site = at
	}
}

// Where returns chunk and line of the function at a level, as "user_script:1: ": level 1
// called the running function of Go, level 2 called that, and so on. It is empty for
// functions of Go and lost tail calls.
func (st *State) Where(level int) string {
	for i := st.depth - 1; i >= 0; i-- {
		f := st.frames[i]
		if level--; level == 0 {
			if f.closure == nil || f.site.line == 0 {
				return ""
			}
			return fmt.Sprintf("%s:%d: ", f.closure.proto.chunk, f.site.line)
		}
		if level -= f.tails; level < 1 {
			return ""
		}
	}
	return ""
}

// overflow ends a call that is nested too deeply.
func (st *State) overflow() {
	if st.limits.Calls > 0 && st.depth > st.limits.Calls {
		st.exceed(CallLimit)
	}
	st.Errorf("stack overflow")
}

// enterC counts a call through Go or by a metamethod.
func (st *State) enterC(at *site) {
	if st.goDepth++; st.goDepth >= maxGoCalls {
		st.errorAt(at, "C stack overflow")
	}
}

// typeError raises an error about an operation on a value of a wrong type.
func (st *State) typeError(operation string, v value.Value, at *site) {
	if at.kind != "" {
		st.errorAt(at, "attempt to %s %s '%s' (a %s value)", operation, at.kind, at.name, v.Kind())
	}
	st.errorAt(at, "attempt to %s a %s value", operation, v.Kind())
}

// ArgError raises an error about the argument of an index, from 0, of the running
// function. It does not return.
func (st *State) ArgError(i int, problem string) {
	at := st.frames[st.depth-1].site
	name, number := at.name, i+1
	switch {
	case at == nowhere || name == "":
		name = "?"
	case at.kind == "method":
		if number--; number == 0 {
			st.Errorf("calling '%s' on bad self (%s)", name, problem)
		}
	}
	st.Errorf("bad argument #%d to '%s' (%s)", number, name, problem)
}

// TypeError raises an error about an argument of a wrong type. It does not return.
func (st *State) TypeError(args []value.Value, i int, expected string) {
	got := "no value"
	if i < len(args) {
		got = args[i].Kind().String()
	}
	st.ArgError(i, expected+" expected, got "+got)
}
