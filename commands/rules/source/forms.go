package source

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"limitsrv/commands/word"
)

// The lengths of addresses in bits.
const (
	bits4 = 32
	bits6 = 128
)

// per reads the attributes of a rule that have counters of their own. An entry is a key, or the key
// of an address with prefix lengths, as in ip/64 or ip/24/64.
func (r *reader) per(n *yaml.Node, rule *Rule) {
	names := r.labels(n, "per")
	rule.Per = r.memory.texts.Make(len(names))
	for i := range names {
		key, bits, ok := perBits(names[i].Text)
		if !ok {
			r.mistakeAt(names[i].Line, "per must be keys of attributes, of an address perhaps with the bits of its range: "+
				"ip/64 for IPv6, 1 to 128, or ip/24/64 for IPv4, 1 to 32, and IPv6, got "+word.Excerpt([]byte(names[i].Text)))
		}
		if rule.Per[i] = key; bits != (Bits{}) {
			if rule.PerBits == nil {
				rule.PerBits = make([]Bits, len(names))
			}
			rule.PerBits[i] = bits
		}
	}
	r.atMost(n, "per", len(rule.Per), MaxAttributes)
}

// perBits splits an entry of per into its key and its prefix lengths. ok is false if these are out
// of bounds.
func perBits(text string) (key string, b Bits, ok bool) {
	parts := strings.Split(text, "/")
	numbers := 0
	for numbers < len(parts)-1 && numbers < 2 && isNumber(parts[len(parts)-1-numbers]) {
		numbers++
	}
	if key = strings.Join(parts[:len(parts)-numbers], "/"); numbers == 0 || key == "" {
		return text, b, true
	}
	v6, v4 := boundedBits(parts[len(parts)-1], bits6), uint8(0)
	if numbers == 2 {
		if v4 = boundedBits(parts[len(parts)-2], bits4); v4 == 0 {
			return text, b, false
		}
	}
	return key, Bits{v4, v6}, v6 != 0
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// boundedBits parses a number from 1 to most. It returns 0 for any other text.
func boundedBits(text string, most int) uint8 {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= most {
		return uint8(n)
	}
	return 0
}

// pathWords are the words for the flags of a path's form, in the order of the flags.
var pathWords = []string{"plain", "slash", "params", "case"}

// allPaths is the word for all flags.
const allPaths = "all"

// paths reads the keys under the word paths, each with the words of its form.
func (r *reader) paths(n *yaml.Node) (all []PathKey) {
	fields, mark, ok := r.words(n, "paths")
	defer r.release(mark)
	if !ok {
		return nil
	}
	r.atMost(n, "paths", len(fields), MaxAttributes)
	for _, f := range fields {
		p, before := PathKey{At: r.at(f.key), Key: f.word}, len(r.mistakes)
		r.label(f.key, "the name of an attribute")
		for _, item := range r.oneOrMore(f.value, "a form of paths") {
			if item = r.follow(item); item == nil {
				return nil
			}
			form := r.oneOf(item, "a form of paths", append([]string{allPaths}, pathWords...))
			for i, w := range pathWords {
				if form == w || form == allPaths {
					p.Form |= 1 << i
				}
			}
		}
		if p.Form == 0 && len(r.mistakes) == before {
			r.mistake(f.value, fmt.Sprintf("a form of paths must be %s, got none",
				anyOf(append([]string{allPaths}, pathWords...))))
		}
		all = append(all, p)
	}
	return all
}
