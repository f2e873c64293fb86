package options

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"limitsrv/commands/word"
	"limitsrv/internal/files"
	"limitsrv/internal/yamlfile"
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

// parseConfig parses the text of a configuration file. Its error is a mistake, or several
// mistakes joined in order of their lines. The entries are nil if no entry could be read.
func parseConfig(name string, text []byte, options []*kong.Flag) (map[string]entry, error) {
	if len(text) > MaxFileBytes {
		return nil, fmt.Errorf("%s: a configuration file must have at most %d bytes", name, MaxFileBytes)
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%s: not UTF-8", name)
	}
	r := configReader{name: name, options: options, entries: map[string]entry{}}
	documents := 0
	for root, err := range yamlfile.Roots(text) {
		if wrong := (*yamlfile.SyntaxError)(nil); errors.As(err, &wrong) {
			r.wrong(wrong.Line, "not YAML: %s", wrong.Unquoted())
			break
		}
		if documents++; documents > 1 {
			r.wrong(root.Line, "only one document is allowed")
			break
		}
		r.document(root)
	}
	if len(r.mistakes) > 0 {
		slices.SortStableFunc(r.mistakes, func(a, b error) int { return a.(Mistake).line - b.(Mistake).line })
		return r.entries, errors.Join(r.mistakes...)
	}
	return r.entries, nil
}

// A configReader parses a configuration file.
type configReader struct {
	name     string
	options  []*kong.Flag
	entries  map[string]entry
	mistakes []error
}

func (r *configReader) wrong(line int, format string, args ...any) {
	r.mistakes = append(r.mistakes, Mistake{r.name, line, fmt.Sprintf(format, args...)})
}

// document parses the options of a document.
func (r *configReader) document(root *yaml.Node) {
	switch {
	case yamlfile.IsNull(root):
	case root.Kind == yaml.MappingNode:
		for pair := range slices.Chunk(root.Content, 2) {
			r.pair(pair[0], pair[1])
		}
	default:
		r.wrong(root.Line, "must consist of lines such as max-memory: 256mb")
	}
}

// nameForm matches names that may be quoted in a mistake. Any other text in place of a
// name may be a password.
var nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,40}$`)

// pair parses an option.
func (r *configReader) pair(key, node *yaml.Node) {
	if !yamlfile.IsText(key) || !nameForm.MatchString(key.Value) {
		r.wrong(key.Line, "expected the name of an option, such as max-memory; limitsrv --help shows all of them")
		return
	}
	i := slices.IndexFunc(r.options, func(f *kong.Flag) bool { return f.Name == key.Value })
	if i < 0 {
		r.unknown(key.Line, key.Value)
		return
	}
	if first, ok := r.entries[key.Value]; ok {
		r.wrong(key.Line, "%s is already set in line %d", key.Value, first.line)
		return
	}
	value, problem := optionValue(r.options[i], node)
	if problem != "" {
		r.wrong(key.Line, "%s %s", key.Value, problem)
	}
	r.entries[key.Value] = entry{key.Line, value, problem != ""}
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
func optionValue(flag *kong.Flag, node *yaml.Node) (value, problem string) {
	var ok bool
	switch {
	case node.Kind == yaml.AliasNode, node.Anchor != "", node.Style&yaml.TaggedStyle != 0:
		return "", "must be a plain value, without an anchor, an alias or a tag"
	case yamlfile.IsNull(node):
		return "", `has no value; write "" for an empty string`
	case node.Tag == "!!bool":
		value, ok = strings.ToLower(node.Value), flag.IsBool()
	case node.Kind == yaml.SequenceNode:
		var all []string
		for _, n := range node.Content {
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
func scalar(node *yaml.Node) (text string, ok bool) {
	return node.Value, yamlfile.IsText(node) || node.Kind == yaml.ScalarNode &&
		(node.Tag == "!!int" || node.Tag == "!!float")
}
