package commands

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
	w.pair("summary", c.Summary)
	w.pair("since", c.Since)
	w.pair("group", c.Group)
	w.pair("complexity", c.Complexity)
	if len(c.args) > 0 {
		w.BulkString("arguments")
		w.arguments(c.args)
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

// pair writes a key and its value, both bulk strings.
func (w *Reply) pair(key, value string) {
	w.BulkString(key)
	w.BulkString(value)
}

func (w *Reply) arguments(args []arg) {
	w.Array(len(args))
	for _, a := range args {
		w.argument(a)
	}
}

// argument writes the map of one argument.
func (w *Reply) argument(a arg) {
	kind := a.docType()
	pairs := 2
	for _, has := range []bool{a.token != "", kind == "key", a.optional || a.multiple, len(a.args) > 0} {
		if has {
			pairs++
		}
	}
	w.Map(pairs)
	w.pair("name", a.name)
	w.pair("type", kind)
	if a.token != "" {
		w.pair("token", a.token)
	}
	if kind == "key" {
		w.BulkString("key_spec_index")
		w.Int(0)
	}
	if a.optional || a.multiple {
		w.BulkString("flags")
		w.argumentFlags(a)
	}
	if len(a.args) > 0 {
		w.BulkString("arguments")
		w.arguments(a.args)
	}
}

func (w *Reply) argumentFlags(a arg) {
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
