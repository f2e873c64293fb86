package commands

import "limitsrv/commands/resp"

// runDocs answers COMMAND DOCS. redis-cli exits if a field that it reads is missing or of
// another type: names must be bulk strings, flags statuses.
func runDocs(s *Session, args [][]byte) {
	var asked []*spec
	if len(args) == 2 {
		asked = s.h.registry.all
	}
	for _, name := range args[2:] {
		if c := s.h.registry.find(name, nil); c != nil {
			asked = append(asked, c)
		}
	}
	s.w.Map(len(asked))
	for _, c := range asked {
		s.w.BulkString(c.name)
		s.explain(c)
	}
}

// explain writes the map of one command.
func (s *Session) explain(c *spec) {
	w := &s.w
	pairs := 4
	if len(c.args) > 0 {
		pairs++
	}
	if len(c.subs) > 0 {
		pairs++
	}
	w.Map(pairs)
	w.Pair("summary", c.Summary)
	w.Pair("since", c.Since)
	w.Pair("group", c.Group)
	w.Pair("complexity", c.Complexity)
	if len(c.args) > 0 {
		w.BulkString("arguments")
		writeArguments(w, c.args)
	}
	if len(c.subs) > 0 {
		w.BulkString("subcommands")
		w.Map(len(c.subs))
		for _, sub := range c.subs {
			w.BulkString(sub.name)
			s.explain(sub)
		}
	}
}

func writeArguments(w *resp.Writer, args []arg) {
	w.Array(len(args))
	for _, a := range args {
		writeArgument(w, a)
	}
}

// writeArgument writes the map of one argument.
func writeArgument(w *resp.Writer, a arg) {
	kind := a.docType()
	pairs := 2
	for _, has := range []bool{a.token != "", kind == "key", a.optional || a.multiple, len(a.args) > 0} {
		if has {
			pairs++
		}
	}
	w.Map(pairs)
	w.Pair("name", a.name)
	w.Pair("type", kind)
	if a.token != "" {
		w.Pair("token", a.token)
	}
	if kind == "key" {
		w.BulkString("key_spec_index")
		w.Int(0)
	}
	if a.optional || a.multiple {
		w.BulkString("flags")
		writeArgumentFlags(w, a)
	}
	if len(a.args) > 0 {
		w.BulkString("arguments")
		writeArguments(w, a.args)
	}
}

func writeArgumentFlags(w *resp.Writer, a arg) {
	switch {
	case a.optional && a.multiple:
		w.Array(2)
		w.Simple("optional")
		w.Simple("multiple")
	case a.optional:
		w.Array(1)
		w.Simple("optional")
	default:
		w.Array(1)
		w.Simple("multiple")
	}
}

// docTypes are the types of words by name; all others are strings.
var docTypes = map[string]string{
	"key": "key", "pattern": "pattern",
	"n": "integer", "capacity": "integer", "limit": "integer", "count": "integer", "cursor": "integer", "index": "integer",
	"max_burst": "integer", "quantity": "integer", "tokens_per_period": "integer", "seconds": "integer", "milliseconds": "integer",
	"protover": "integer", "client-id": "integer", "numreplicas": "integer", "timeout": "integer",
}

// docType returns the type in the words of COMMAND DOCS.
func (a arg) docType() string {
	switch a.kind {
	case pureToken:
		return "pure-token"
	case oneOf:
		return "oneof"
	case block:
		return "block"
	}
	if t := docTypes[a.name]; t != "" {
		return t
	}
	return "string"
}
