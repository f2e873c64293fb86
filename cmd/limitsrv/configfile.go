package main

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"limitsrv/commands"
	"limitsrv/files"
	"limitsrv/persist"
)

// maxConfigBytes bounds a file of options.
const maxConfigBytes = 64 << 10

// An entry is an option in a file: the line that has its name, and the value as the
// command line would have it.
type entry struct {
	line  int
	value string
	wrong bool // there is a mistake about it
}

// A mistake is what is wrong in a line of a file. No text of the file is in it but
// names, as a password may be anywhere.
type mistake struct {
	file string
	line int
	text string
}

func (m mistake) Error() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.text) }

// readConfig reads a file of options. exposed says that everybody on this machine
// may read it.
func readConfig(name string, options []*kong.Flag) (entries map[string]entry, exposed bool, err error) {
	text, info, err := files.Read(name, maxConfigBytes)
	if err != nil {
		return nil, false, fmt.Errorf("--config: %w", err)
	}
	entries, err = parseConfig(name, text, options)
	return entries, info.Mode().Perm()&0o004 != 0, err
}

// parseConfig reads the text of a file of options. Its error is one mistake, or all
// of them joined, in order of their lines; nil entries say that none could be read.
func parseConfig(name string, text []byte, options []*kong.Flag) (map[string]entry, error) {
	if len(text) > maxConfigBytes {
		return nil, fmt.Errorf("%s: a file of options has at most %d bytes", name, maxConfigBytes)
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%s: it is not UTF-8", name)
	}
	r := configReader{name: name, options: options, entries: map[string]entry{}}
	if line := files.NestedTooDeep(text); line > 0 {
		r.wrong(line, "too many lists in each other")
		return nil, errors.Join(r.mistakes...)
	}
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err)
		return nil, errors.Join(r.mistakes...)
	}
	for i, doc := range file.Docs {
		if i > 0 {
			r.wrong(lineOf(doc.Body), "one document is all that is read")
			break
		}
		r.document(doc.Body)
	}
	if len(r.mistakes) > 0 {
		slices.SortStableFunc(r.mistakes, func(a, b error) int { return a.(mistake).line - b.(mistake).line })
		return r.entries, errors.Join(r.mistakes...)
	}
	return r.entries, nil
}

// A configReader is the reading of one file.
type configReader struct {
	name     string
	options  []*kong.Flag
	entries  map[string]entry
	mistakes []error
}

func (r *configReader) wrong(line int, format string, args ...any) {
	r.mistakes = append(r.mistakes, mistake{r.name, line, fmt.Sprintf(format, args...)})
}

// syntax is for what is no YAML. The reader's message has no text of the file; its
// Error has.
func (r *configReader) syntax(err error) {
	var where yaml.Error
	if !errors.As(err, &where) || where.GetToken() == nil {
		r.wrong(1, "it is not YAML")
		return
	}
	r.wrong(where.GetToken().Position.Line, "it is not YAML: %s", where.GetMessage())
}

// document reads the lines of options.
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
		r.wrong(lineOf(body), "it must be lines such as max-memory: 256mb")
	}
}

// nameForm is what may be told of what stands in the place of a name.
var nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,40}$`)

// pair reads one option.
func (r *configReader) pair(pair *ast.MappingValueNode) {
	line := lineOf(pair.Key)
	key, ok := pair.Key.(*ast.StringNode)
	if !ok || !nameForm.MatchString(key.Value) {
		r.wrong(line, "the name of an option is wanted, such as max-memory; limitsrv --help shows them all")
		return
	}
	i := slices.IndexFunc(r.options, func(f *kong.Flag) bool { return f.Name == key.Value })
	if i < 0 {
		r.unknown(line, key.Value)
		return
	}
	if first, ok := r.entries[key.Value]; ok {
		r.wrong(line, "%s stands in line %d already", key.Value, first.line)
		return
	}
	value, problem := optionValue(r.options[i], pair.Value)
	if problem != "" {
		r.wrong(line, "%s %s", key.Value, problem)
	}
	r.entries[key.Value] = entry{line, value, problem != ""}
}

// unknown is for a name that no option has.
func (r *configReader) unknown(line int, name string) {
	if slices.Contains([]string{"config", "help", "help-commands", "version"}, name) {
		r.wrong(line, "%s is for the command line alone", name)
		return
	}
	if advice := redisAdvice(name); advice != "" {
		r.wrong(line, "there is no option %s; redis-server's is here %s", name, advice)
		return
	}
	names := make([]string, 0, len(r.options))
	for _, f := range r.options {
		names = append(names, f.Name)
	}
	nearest := commands.Nearest(name, names)
	if nearest == "" {
		r.wrong(line, "there is no option %s; limitsrv --help shows them all", name)
		return
	}
	r.wrong(line, "there is no option %s; did you mean %s?", name, nearest)
}

// optionValue is a value as the command line would have it, or what it must be.
func optionValue(flag *kong.Flag, node ast.Node) (value, problem string) {
	var ok bool
	switch node := node.(type) {
	case *ast.NullNode:
		return "", `has no value; "" is an empty text`
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "", "must be written out, without an anchor, an alias or a tag"
	case *ast.BoolNode:
		value, ok = fmt.Sprint(node.Value), flag.IsBool()
	case *ast.SequenceNode:
		var all []string
		for _, n := range node.Values {
			text, isText := scalar(n)
			if !isText {
				return "", allowed(flag)
			}
			all = append(all, text)
		}
		value, ok = kong.JoinEscaped(all, ','), flag.IsSlice()
	default:
		value, ok = scalar(node)
		ok = ok && !flag.IsBool()
	}
	if !ok || !takes(flag, value) {
		return "", allowed(flag)
	}
	return value, ""
}

// scalar is a text or a number as it is written.
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

// takes says whether an option takes a value.
func takes(flag *kong.Flag, value string) bool {
	if flag.Enum != "" && !slices.Contains(flag.EnumSlice(), value) {
		return false
	}
	scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: value})
	return flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, reflect.New(flag.Target.Type()).Elem()) == nil
}

// choices are all values of an option, if they are few.
func choices(flag *kong.Flag) []string {
	if flag.Enum != "" {
		return flag.EnumSlice()
	}
	switch flag.Target.Interface().(type) {
	case persist.Policy:
		return []string{"always", "everysec", "no"}
	case slog.Level:
		return levels
	}
	return nil
}

// allowed is what the value of an option must be.
func allowed(flag *kong.Flag) string {
	if few := choices(flag); few != nil {
		return "must be one of: " + strings.Join(few, ", ")
	}
	switch flag.Target.Interface().(type) {
	case bool:
		return "must be true or false"
	case int:
		return "must be a whole number"
	case time.Duration:
		return "must be a duration, such as 500ms, 10s or 24h"
	case size:
		return "must be a size, such as 1000, 64kb, 256mb or 2gb"
	case []string:
		return "must be a list of texts, such as [a, b]"
	case string:
		return "must be a text"
	}
	return "must be: " + flag.Help
}

// lineOf is the line of a node, from 1; some nodes that are empty have none.
func lineOf(node ast.Node) int {
	if node == nil || node.GetToken() == nil {
		return 1
	}
	return node.GetToken().Position.Line
}
