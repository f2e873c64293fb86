package options

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"limitsrv/commands/word"
	"limitsrv/files"
)

// MaxFileBytes bounds the size of a configuration file.
const MaxFileBytes = 64 << 10

// An entry is an option in a configuration file: the line of its name, and its value in
// the form of the command line.
type entry struct {
	line  int
	value string
	wrong bool // a mistake about it was reported
}

// A Mistake is an error in a line of a configuration file. Its text quotes only option
// names from the file, because any other text may be a password.
type Mistake struct {
	file string
	line int
	text string
}

func (m Mistake) Error() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.text) }

// readConfig reads a configuration file. exposed reports whether all users of this
// machine can read it.
func readConfig(name string, options []*kong.Flag) (entries map[string]entry, exposed bool, err error) {
	text, info, err := files.Read(name, MaxFileBytes)
	if err != nil {
		return nil, false, fmt.Errorf("--config: %w", err)
	}
	entries, err = parseConfig(name, text, options)
	return entries, info.Mode().Perm()&0o004 != 0, err
}

// parseConfig parses the text of a configuration file. Its error is one mistake, or
// several joined in order of their lines. The entries are nil if none could be read.
func parseConfig(name string, text []byte, options []*kong.Flag) (map[string]entry, error) {
	if len(text) > MaxFileBytes {
		return nil, fmt.Errorf("%s: a configuration file must have at most %d bytes", name, MaxFileBytes)
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%s: not UTF-8", name)
	}
	r := configReader{name: name, options: options, entries: map[string]entry{}}
	if line := files.NestedTooDeep(text); line > 0 {
		r.wrong(line, "lists are nested too deep")
		return nil, errors.Join(r.mistakes...)
	}
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err)
		return nil, errors.Join(r.mistakes...)
	}
	for i, doc := range file.Docs {
		if i > 0 {
			r.wrong(lineOf(doc.Body), "only one document is allowed")
			break
		}
		r.document(doc.Body)
	}
	if len(r.mistakes) > 0 {
		slices.SortStableFunc(r.mistakes, func(a, b error) int { return a.(Mistake).line - b.(Mistake).line })
		return r.entries, errors.Join(r.mistakes...)
	}
	return r.entries, nil
}

// A configReader parses one configuration file.
type configReader struct {
	name     string
	options  []*kong.Flag
	entries  map[string]entry
	mistakes []error
}

func (r *configReader) wrong(line int, format string, args ...any) {
	r.mistakes = append(r.mistakes, Mistake{r.name, line, fmt.Sprintf(format, args...)})
}

// syntax reports a YAML syntax error. It uses the message of err, because its Error
// method quotes the file.
func (r *configReader) syntax(err error) {
	var where yaml.Error
	if !errors.As(err, &where) || where.GetToken() == nil {
		r.wrong(1, "not YAML")
		return
	}
	r.wrong(where.GetToken().Position.Line, "not YAML: %s", where.GetMessage())
}

// document parses the options of a document.
func (r *configReader) document(body ast.Node) {
	switch body := body.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
	case *ast.MappingValueNode:
		r.pair(body)
	case *ast.MappingNode:
		for _, pair := range body.Values {
			r.pair(pair)
		}
	default:
		r.wrong(lineOf(body), "must consist of lines such as max-memory: 256mb")
	}
}

// nameForm matches names that may be quoted in a mistake. Any other text in place of a
// name may be a password.
var nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,40}$`)

// pair parses one option.
func (r *configReader) pair(pair *ast.MappingValueNode) {
	line := lineOf(pair.Key)
	key, ok := pair.Key.(*ast.StringNode)
	if !ok || !nameForm.MatchString(key.Value) {
		r.wrong(line, "expected the name of an option, such as max-memory; limitsrv --help shows all of them")
		return
	}
	i := slices.IndexFunc(r.options, func(f *kong.Flag) bool { return f.Name == key.Value })
	if i < 0 {
		r.unknown(line, key.Value)
		return
	}
	if first, ok := r.entries[key.Value]; ok {
		r.wrong(line, "%s is already set in line %d", key.Value, first.line)
		return
	}
	value, problem := optionValue(r.options[i], pair.Value)
	if problem != "" {
		r.wrong(line, "%s %s", key.Value, problem)
	}
	r.entries[key.Value] = entry{line, value, problem != ""}
}

// unknown reports a name that is not an option.
func (r *configReader) unknown(line int, name string) {
	if slices.Contains([]string{"config", "help", "help-commands", "version"}, name) {
		r.wrong(line, "%s is for the command line only", name)
		return
	}
	if advice := redisAdvice(name); advice != "" {
		r.wrong(line, "unknown option %s; for redis-server's %s use %s", name, name, advice)
		return
	}
	names := make([]string, 0, len(r.options))
	for _, f := range r.options {
		names = append(names, f.Name)
	}
	nearest := word.Nearest(name, names)
	if nearest == "" {
		r.wrong(line, "unknown option %s; limitsrv --help shows all options", name)
		return
	}
	r.wrong(line, "unknown option %s; did you mean %s?", name, nearest)
}

// optionValue returns a value in the form of the command line, or a description of the
// values that flag accepts.
func optionValue(flag *kong.Flag, node ast.Node) (value, problem string) {
	var ok bool
	switch node := node.(type) {
	case *ast.NullNode:
		return "", `has no value; write "" for an empty string`
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "", "must be a plain value, without an anchor, an alias or a tag"
	case *ast.BoolNode:
		value, ok = fmt.Sprint(node.Value), flag.IsBool()
	case *ast.SequenceNode:
		var all []string
		for _, n := range node.Values {
			text, isText := scalar(n)
			if !isText {
				return "", requirement(flag)
			}
			all = append(all, text)
		}
		value, ok = kong.JoinEscaped(all, ','), flag.IsSlice()
	default:
		value, ok = scalar(node)
		ok = ok && !flag.IsBool()
	}
	if !ok || !accepts(flag, value) {
		return "", requirement(flag)
	}
	return value, ""
}

// scalar returns a string or a number as written in the file.
func scalar(node ast.Node) (text string, ok bool) {
	switch node := node.(type) {
	case *ast.StringNode:
		return node.Value, true
	case *ast.LiteralNode:
		return node.Value.Value, true
	case *ast.IntegerNode:
		return node.Token.Value, true
	case *ast.FloatNode:
		return node.Token.Value, true
	}
	return "", false
}

// lineOf returns the line of node, from 1. Some empty nodes have none; it returns 1 for
// those.
func lineOf(node ast.Node) int {
	if node == nil || node.GetToken() == nil {
		return 1
	}
	return node.GetToken().Position.Line
}
