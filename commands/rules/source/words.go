package source

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"limitsrv/commands/word"
)

// oneMore counts a node or a rule, and stops the document if there are too many.
func (r *reader) oneMore(n *yaml.Node) bool {
	if r.rules++; r.rules > MaxRules {
		r.mistake(n, fmt.Sprintf("all domains may have %d descriptors and rules together, this is one more", MaxRules))
		r.stopped = true
		return false
	}
	return true
}

// treeWords are the words of envoyproxy/ratelimit. There, each is known at every level.
var treeWords = []string{
	"domain", "descriptors", "key", "value", "rate_limit", "shadow_mode", "quota_mode", "detailed_metric",
	"value_to_metric", "share_threshold",
	"metadata", "unit", "requests_per_unit", "unlimited", "name", "replaces",
}

// tolerant are the mappings of envoyproxy/ratelimit.
var tolerant = []string{inDocument, inDescriptor, inRateLimit, inReplaces}

// The mappings in mistakes.
const (
	inDocument   = "a document"
	inDescriptor = "a descriptor"
	inRateLimit  = "rate_limit"
	inReplaces   = "an entry of replaces"
)

// noteOwn notes a word of the tree that envoyproxy/ratelimit does not have.
func (r *reader) noteOwn(name string) {
	if !slices.Contains(treeWords, name) && !slices.Contains(r.own, name) && len(r.own) < len(treeWords) {
		r.own = append(r.own, name)
	}
}

// unknown records a word that its mapping can not have. A word of the form of
// envoyproxy/ratelimit in a wrong place is ignored there, and a warning here.
func (r *reader) unknown(f field, where string, allowed []string) {
	if slices.Contains(treeWords, f.word) && slices.Contains(tolerant, where) {
		r.warn(f.key, f.word+" has no meaning in "+where+" and is ignored; its words are "+anyOf(allowed))
		r.ignored(f.value)
		return
	}
	r.mistake(f.key, fmt.Sprintf("the words of %s are %s, got %s%s", where, anyOf(allowed), word.Excerpt([]byte(f.word)),
		word.DidYouMean([]byte(f.word), allowed...)))
}

// ignored checks the value of a word that is ignored: envoyproxy/ratelimit still rejects
// unknown words in it, and lists of other things than mappings.
func (r *reader) ignored(n *yaml.Node) {
	switch n.Kind {
	case yaml.ScalarNode:
		r.text(n, "a value")
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if item = r.follow(item); item == nil {
				return
			}
			if item.Kind != yaml.MappingNode {
				r.bad(item, "an entry of a list", "a mapping")
				continue
			}
			r.ignored(item)
		}
	case yaml.MappingNode:
		fields, mark, _ := r.words(n, "a mapping")
		defer r.release(mark)
		for _, f := range fields {
			switch {
			case f.word == "metadata":
			case slices.Contains(treeWords, f.word):
				r.ignored(f.value)
			default:
				r.mistake(f.key, "the words of descriptors are "+anyOf(treeWords)+", got "+got(f.key))
			}
		}
	}
}

// anyOf returns words as in "a, b or c".
func anyOf(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// wordsOf returns the words of a mapping, for a mistake.
func wordsOf(fields []field) string {
	if len(fields) == 0 {
		return "no word"
	}
	var all []string
	for _, f := range fields {
		all = append(all, f.word)
	}
	return strings.Join(all, ", ")
}

// oneOf reads one of some words.
func (r *reader) oneOf(n *yaml.Node, name string, allowed []string) string {
	for _, w := range allowed {
		if n.Kind == yaml.ScalarNode && n.Value == w {
			return w
		}
	}
	r.bad(n, name, anyOf(allowed))
	return ""
}
