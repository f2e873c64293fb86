package source

import (
	"fmt"
	"iter"
	"slices"

	"go.yaml.in/yaml/v3"

	"limitsrv/commands/rules/slab"
	"limitsrv/commands/word"
	"limitsrv/internal/pace"
	"limitsrv/internal/yamlfile"
)

// newReader makes a reader.
func newReader() reader { return reader{limitLines: map[string]Limit{}} }

// A reader reads the YAML of each file in turn.
type reader struct {
	name          string
	mistakes      Mistakes
	warnings      []Mistake        // of the document
	own           []string         // words of the document in its tree that envoyproxy/ratelimit lacks
	fields        []field          // scratch of words
	limitLines    map[string]Limit // limits in a line, by their text, without their place
	rules         int              // nodes and rules so far, in all files
	listedEntries int              // entries of lists so far, in all files
	domains       int              // so far, in all files
	cases         int              // repetitions of steps so far
	visits        int              // visited parts of the document, aliases expanded
	parts         int              // parts of the document
	pace          pace.Pace
	stream        *yamlfile.Stream // of the document, with its long lists; nil without any
	memory        memory
	stopped       bool // by a bound: other mistakes would only follow from it
}

// A memory allocates the parts of rules.
type memory struct {
	matches slab.Slices[Match]
	limits  slab.Slices[Limit]
	texts   slab.Slices[string]
}

// A field is a word of a mapping with its value.
type field struct {
	word  string
	key   *yaml.Node
	value *yaml.Node // never an alias
}

// count returns the number of parts below a node, without aliases. It stops the document
// if they are nested too deep.
func (r *reader) count(n *yaml.Node, depth int) int {
	if depth > MaxNesting {
		if !r.stopped {
			r.mistake(n, fmt.Sprintf("the YAML may be nested %d levels deep, this is level %d", MaxNesting, depth))
			r.stopped = true
		}
		return 0
	}
	sum := 1
	for _, c := range n.Content {
		if sum += r.count(c, depth+1); r.stopped {
			return sum
		}
	}
	return sum
}

// mistake records an error at a node.
func (r *reader) mistake(n *yaml.Node, text string) { r.mistakeAt(n.Line, text) }

func (r *reader) mistakeAt(line int, text string) {
	if len(r.mistakes) < MaxMistakes && !r.stopped {
		r.mistakes = append(r.mistakes, Mistake{At{r.name, line}, text})
	}
}

// bad records that a node has another value than it must have.
func (r *reader) bad(n *yaml.Node, name, must string) {
	r.mistake(n, name+" must be "+must+", got "+got(n))
}

func (r *reader) warn(n *yaml.Node, text string) {
	if len(r.warnings) < MaxMistakes {
		r.warnings = append(r.warnings, Mistake{r.at(n), text})
	}
}

func (r *reader) at(n *yaml.Node) At { return At{r.name, n.Line} }

// got describes a value for a mistake.
func got(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case yamlfile.IsNull(n) && n.Value == "":
		return "nothing"
	}
	return word.Excerpt([]byte(n.Value))
}

// follow returns the node, or the node that an alias stands for, and counts the visit. nil:
// the document has too many, and reading stops.
func (r *reader) follow(n *yaml.Node) *yaml.Node {
	if r.stopped {
		return nil
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if r.visits++; r.visits > MaxExpansion*r.parts {
		r.mistake(n, fmt.Sprintf("aliases may expand the text to %d times its %d parts, they expand it further", MaxExpansion,
			r.parts))
		r.stopped = true
		return nil
	}
	return n
}

// items returns the items of a list, no items for null. name is its name in mistakes.
func (r *reader) items(n *yaml.Node, name string) []*yaml.Node {
	switch {
	case n.Kind == yaml.SequenceNode:
		return n.Content
	case !yamlfile.IsNull(n):
		r.bad(n, name, "a list")
	}
	return nil
}

// each returns the number of the items of a list, and yields them, no items for null. name is
// its name in mistakes. An item of a long list is valid until the next item.
func (r *reader) each(n *yaml.Node, name string) (number int, items iter.Seq[*yaml.Node]) {
	if r.stream != nil {
		if number, items, ok := r.stream.Items(n); ok {
			return number, items
		}
	}
	all := r.items(n, name)
	return len(all), slices.Values(all)
}

// words returns the words of a mapping with their values, merged words included, each once.
// They are valid until release(mark).
func (r *reader) words(n *yaml.Node, name string) (fields []field, mark int, ok bool) {
	mark = len(r.fields)
	if n.Kind != yaml.MappingNode {
		r.bad(n, name, "a mapping")
		return nil, mark, false
	}
	ok = r.addWords(n, mark, 0)
	return r.fields[mark:], mark, ok
}

func (r *reader) release(mark int) { r.fields = r.fields[:mark] }

// addWords appends the words of a mapping to r.fields. Words that are there from mark on,
// before the mapping itself, go before merged words.
func (r *reader) addWords(n *yaml.Node, mark, depth int) bool {
	if depth > MaxNesting {
		r.mistake(n, fmt.Sprintf("<< may be nested %d levels deep, got more", MaxNesting))
		r.stopped = true
		return false
	}
	own, ok := len(r.fields), true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			continue
		}
		if key = r.follow(key); key == nil {
			return false
		}
		if key.Kind != yaml.ScalarNode {
			r.bad(key, "a word", "text")
			ok = false
			continue
		}
		if value = r.follow(value); value == nil {
			return false
		}
		switch at := r.find(key.Value, mark); {
		case at < 0 && len(r.fields)-mark == MaxWords:
			r.mistake(key, fmt.Sprintf("a mapping may have %d words, this one has more", MaxWords))
			r.stopped = true
			return false
		case at < 0:
			r.fields = append(r.fields, field{key.Value, key, value})
		case at >= own:
			hint := ""
			if key.Value == "domain" {
				hint = "; a line --- begins the document of another domain"
			}
			r.mistake(key, fmt.Sprintf("%s is here twice, it is already in line %d%s", word.Excerpt([]byte(key.Value)),
				r.fields[at].key.Line, hint))
			ok = false
		}
	}
	return r.addMerged(n, mark, depth) && ok
}

// addMerged appends the words of the mappings after <<.
func (r *reader) addMerged(n *yaml.Node, mark, depth int) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			continue
		}
		from := r.follow(n.Content[i+1])
		if from == nil {
			return false
		}
		all := []*yaml.Node{from}
		if from.Kind == yaml.SequenceNode {
			all = from.Content
		}
		for _, m := range all {
			if m = r.follow(m); m == nil {
				return false
			}
			if m.Kind != yaml.MappingNode {
				r.bad(m, "<<", "a mapping or a list of mappings")
				return false
			}
			if !r.addWords(m, mark, depth+1) {
				return false
			}
		}
	}
	return true
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Tag == "!!merge"
}

// find returns the index in r.fields, from mark on, of a word, or -1.
func (r *reader) find(name string, mark int) int {
	for i := mark; i < len(r.fields); i++ {
		if r.fields[i].word == name {
			return i
		}
	}
	return -1
}
