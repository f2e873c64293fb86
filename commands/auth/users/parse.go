package users

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"limitsrv/internal/yamlfile"
)

// Bounds of a file.
const (
	maxUsers        = 4096
	maxNameBytes    = 128
	maxKeys         = 256 // patterns per user
	maxPatternBytes = 1024
	maxHashes       = 4 // per user
)

const fields = "name, hash or hashes, groups, keys, channels and enabled"

// A source is a file that is being parsed.
type source struct {
	path     string
	reserved []string
	named    map[string]*User
}

// Parse parses data, at most a megabyte, which was read from path. reserved are names
// that must not be in it.
func Parse(path string, data []byte, reserved ...string) (*Table, error) {
	s := &source{path: path, reserved: reserved, named: map[string]*User{}}
	var body *yaml.Node
	for root, err := range yamlfile.Roots(data) {
		if wrong := (*yamlfile.SyntaxError)(nil); errors.As(err, &wrong) {
			return nil, s.errorAt(wrong.Line, "invalid YAML: %s; a pattern that begins with * needs quotes", wrong.Unquoted())
		}
		if body != nil {
			return nil, s.errorAt(root.Line, "the file must be one YAML document with users")
		}
		body = root
	}
	if body == nil {
		return nil, s.errorAt(1, "the file must be one YAML document with users")
	}
	values, err := s.mapping(body)
	if err != nil {
		return nil, err
	}
	if len(values) != 1 || text(values[0].key) != "users" {
		return nil, s.errorAt(body.Line, "the only field must be users, a list")
	}
	t, err := s.users(values[0].value)
	if err != nil {
		return nil, err
	}
	t.digest = sha256.Sum256(data)
	return t, nil
}

// errorAt is an error at a line.
func (s *source) errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", s.path, line, fmt.Sprintf(format, args...))
}

// text returns the value of a text node, empty for any other node.
func text(n *yaml.Node) string {
	if !yamlfile.IsText(n) {
		return ""
	}
	return strings.TrimRight(n.Value, "\n")
}

// A field is a field of a mapping.
type field struct{ key, value *yaml.Node }

// mapping returns the fields of a node that must be a mapping without duplicate names.
func (s *source) mapping(n *yaml.Node) (all []field, err error) {
	if n.Kind != yaml.MappingNode {
		return nil, s.errorAt(n.Line, "expected fields of the form name: value")
	}
	seen := map[string]bool{}
	for pair := range slices.Chunk(n.Content, 2) {
		f := field{pair[0], pair[1]}
		name := text(f.key)
		switch {
		case name == "":
			return nil, s.errorAt(f.key.Line, "the name of a field must be plain text")
		case seen[name]:
			return nil, s.errorAt(f.key.Line, "duplicate field")
		}
		seen[name] = true
		all = append(all, f)
	}
	return all, nil
}

// list returns the elements of a node that must be a list of 1 to most elements.
func (s *source) list(what string, n *yaml.Node, most int) ([]*yaml.Node, error) {
	switch {
	case n.Kind != yaml.SequenceNode:
		return nil, s.errorAt(n.Line, "%s must be a list", what)
	case len(n.Content) < 1 || len(n.Content) > most:
		return nil, s.errorAt(n.Line, "%s must have 1 to %d elements, got %d", what, most, len(n.Content))
	}
	return n.Content, nil
}

// texts returns the elements of a list of texts, each of 1 to mostBytes.
func (s *source) texts(what string, n *yaml.Node, most, mostBytes int) (all []string, lines []int, err error) {
	nodes, err := s.list(what, n, most)
	for _, e := range nodes {
		t := text(e)
		if len(t) < 1 || len(t) > mostBytes {
			return nil, nil, s.errorAt(e.Line,
				"an element of %s must be text of 1 to %d bytes; a number, true or false needs quotes", what, mostBytes)
		}
		all, lines = append(all, t), append(lines, e.Line)
	}
	return all, lines, err
}

func (s *source) users(n *yaml.Node) (*Table, error) {
	nodes, err := s.list("users", n, maxUsers)
	if err != nil {
		return nil, err
	}
	t := &Table{named: s.named}
	for _, node := range nodes {
		u, err := s.user(node)
		if err != nil {
			return nil, err
		}
		t.Users = append(t.Users, u)
	}
	return t, nil
}

// user parses a user and checks that all required fields are there.
func (s *source) user(n *yaml.Node) (*User, error) {
	values, err := s.mapping(n)
	if err != nil {
		return nil, err
	}
	u := &User{Enabled: true, line: n.Line}
	if len(values) > 0 {
		u.line = values[0].key.Line
	}
	for _, v := range values {
		if err := s.field(u, text(v.key), v.key.Line, v.value); err != nil {
			return nil, err
		}
	}
	for _, missing := range []struct {
		is   bool
		what string
	}{
		{u.Name == "", "a name"},
		{len(u.hashes) == 0, "a hash, or hashes"},
		{u.Groups == 0, "groups: decide, peek, admin, rules, pubsub, or categories of commands on values"},
		{len(u.Keys) == 0, `keys: patterns, such as "api:*", or "*" for all`},
		{u.Groups&(GroupOf("pubsub")|Admin) == GroupOf("pubsub") && len(u.Channels) == 0,
			`channels for the group pubsub: patterns, such as "news:*", or "*" for all`},
	} {
		if missing.is {
			return nil, s.errorAt(u.line, "a user must have %s", missing.what)
		}
	}
	if other := s.named[u.Name]; other != nil {
		return nil, s.errorAt(u.line, "duplicate user name, first used at line %d", other.line)
	}
	s.named[u.Name] = u
	return u, nil
}

// field parses a field of a user.
func (s *source) field(u *User, name string, line int, value *yaml.Node) (err error) {
	switch name {
	case "name":
		u.Name = text(value)
		return s.checkName(u.Name, line)
	case "hash", "hashes":
		if len(u.hashes) > 0 {
			return s.errorAt(line, "hash and hashes exclude each other")
		}
		return s.hashes(u, name, line, value)
	case "groups":
		return s.groups(u, value)
	case "keys":
		u.Keys, _, err = s.texts("keys", value, maxKeys, maxPatternBytes)
		return err
	case "channels":
		u.Channels, _, err = s.texts("channels", value, maxKeys, maxPatternBytes)
		return err
	case "enabled":
		if value.Kind != yaml.ScalarNode || value.Tag != "!!bool" {
			return s.errorAt(line, "enabled must be true or false")
		}
		return value.Decode(&u.Enabled)
	}
	return s.errorAt(line, "unknown field; a user has %s", fields)
}

// checkName rejects names that would break a line of CLIENT LIST or of a log.
func (s *source) checkName(name string, line int) error {
	if len(name) < 1 || len(name) > maxNameBytes ||
		strings.ContainsFunc(name, func(c rune) bool { return c < '!' || c > '~' }) {
		return s.errorAt(line, "name must be text of 1 to %d letters, digits and signs of ASCII, without spaces; a number, "+
			"true or false needs quotes", maxNameBytes)
	}
	for _, r := range s.reserved {
		if name == r {
			return s.errorAt(line, "the user %s has its password in the server's options and must not be in the file", r)
		}
	}
	return nil
}

func (s *source) hashes(u *User, name string, line int, value *yaml.Node) error {
	all, lines := []string{text(value)}, []int{line}
	if name == "hashes" {
		var err error
		if all, lines, err = s.texts(name, value, maxHashes, maxHashBytes); err != nil {
			return err
		}
	}
	for i, t := range all {
		h, err := parseHash(t)
		if err != nil {
			return s.errorAt(lines[i], "%v", err)
		}
		u.hashes = append(u.hashes, h)
	}
	return nil
}

func (s *source) groups(u *User, value *yaml.Node) error {
	names, lines, err := s.texts("groups", value, len(GroupNames), maxNameBytes)
	for i, name := range names {
		g := GroupOf(name)
		switch {
		case g == 0:
			return s.errorAt(lines[i], "unknown group; groups are %s", strings.Join(GroupNames[:], ", "))
		case u.Groups&g != 0:
			return s.errorAt(lines[i], "duplicate group")
		}
		u.Groups |= g
	}
	return err
}
