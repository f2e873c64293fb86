package commands

import (
	"fmt"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/usage"
	"limitsrv/engine"
)

// runDocs answers COMMAND DOCS. redis-cli exits if a field that it reads is missing or of
// another type: names must be bulk strings, flags statuses.
func runDocs(s *session.Session, w *resp.Writer, args [][]byte) {
	r := s.Handler().Registry()
	if len(args) == 2 {
		r.Docs.Write(w, func(w *resp.Writer) { explainAll(w, r.All) })
		return
	}
	var asked []*session.Spec
	for _, name := range args[2:] {
		if c := r.Find(name, nil); c != nil {
			asked = append(asked, c)
		}
	}
	explainAll(w, asked)
}

// explainAll writes a map from names to descriptions of the commands, or an error if the reply is
// too long.
func explainAll(w *resp.Writer, asked []*session.Spec) {
	from := len(w.Buf)
	w.Map(len(asked))
	for _, c := range asked {
		w.BulkString(c.FullName)
		if explain(w, c); isTooLong(w, from) {
			return
		}
	}
}

// isTooLong reports whether the reply that starts at from is too long, and if so replaces it with
// an error. A client can make a reply too long by repeating names.
func isTooLong(w *resp.Writer, from int) bool {
	n := len(w.Buf) - from
	if n <= engine.MaxAnswerBytes {
		return false
	}
	w.Buf = w.Buf[:from]
	w.Error(resp.NewError("ERR", fmt.Sprintf("the answer has %d bytes or more, at most %d are allowed: ask for less at "+
		"a time", n, engine.MaxAnswerBytes)))
	return true
}

// explain writes the map of a command.
func explain(w *resp.Writer, c *session.Spec) {
	pairs := 4
	if len(c.Arguments) > 0 {
		pairs++
	}
	if len(c.Subs) > 0 {
		pairs++
	}
	w.Map(pairs)
	w.Pair("summary", c.Summary)
	w.Pair("since", c.Since)
	w.Pair("group", c.Group)
	w.Pair("complexity", c.Complexity)
	if len(c.Arguments) > 0 {
		w.BulkString("arguments")
		writeArguments(w, c.Arguments)
	}
	if len(c.Subs) > 0 {
		w.BulkString("subcommands")
		w.Map(len(c.Subs))
		for _, sub := range c.Subs {
			w.BulkString(sub.FullName)
			explain(w, sub)
		}
	}
}

func writeArguments(w *resp.Writer, args []usage.Arg) {
	w.Array(len(args))
	for _, a := range args {
		writeArgument(w, a)
	}
}

// writeArgument writes the map of an argument.
func writeArgument(w *resp.Writer, a usage.Arg) {
	kind := docType(a)
	pairs := 2
	for _, has := range []bool{a.Token != "", kind == "key", a.Optional || a.Multiple, len(a.Args) > 0} {
		if has {
			pairs++
		}
	}
	w.Map(pairs)
	w.Pair("name", a.Name)
	w.Pair("type", kind)
	if a.Token != "" {
		w.Pair("token", a.Token)
	}
	if kind == "key" {
		w.BulkString("key_spec_index")
		w.Int(0)
	}
	if a.Optional || a.Multiple {
		w.BulkString("flags")
		writeArgumentFlags(w, a)
	}
	if len(a.Args) > 0 {
		w.BulkString("arguments")
		writeArguments(w, a.Args)
	}
}

func writeArgumentFlags(w *resp.Writer, a usage.Arg) {
	switch {
	case a.Optional && a.Multiple:
		w.Array(2)
		w.Simple("optional")
		w.Simple("multiple")
	case a.Optional:
		w.Array(1)
		w.Simple("optional")
	default:
		w.Array(1)
		w.Simple("multiple")
	}
}

// docTypes are the types of words by name; all other words are strings.
var docTypes = map[string]string{
	"key": "key", "source": "key", "destination": "key", "src": "key", "dst": "key", "pattern": "pattern",
	"n": "integer", "capacity": "integer", "limit": "integer", "count": "integer", "cursor": "integer", "index": "integer",
	"max_burst": "integer", "quantity": "integer", "tokens_per_period": "integer", "seconds": "integer",
	"milliseconds": "integer",
	"protover":     "integer", "client-id": "integer", "numreplicas": "integer", "timeout": "integer",
}

// docType returns the type in the words of COMMAND DOCS.
func docType(a usage.Arg) string {
	switch a.Kind {
	case usage.PureToken:
		return "pure-token"
	case usage.OneOf:
		return "oneof"
	case usage.Block:
		return "block"
	}
	if t := docTypes[a.Name]; t != "" {
		return t
	}
	return "string"
}
