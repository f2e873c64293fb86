package source

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"limitsrv/commands/limiters"
	"limitsrv/internal/yamlfile"
)

// text reads a value that may be written as text, a whole number, a boolean or null: it is
// the text as written. Numbers with a fraction, or beyond 64 bits, must be quoted.
func (r *reader) text(n *yaml.Node, name string) (string, bool) {
	switch {
	case n.Kind != yaml.ScalarNode:
		r.bad(n, name, "text")
		return "", false
	case n.Tag == "!!float" || n.Tag == "!!int" && !isWhole(n.Value):
		r.bad(n, name, "text, a whole number of 64 bits or a boolean, other numbers in quotes")
		return "", false
	case n.Tag == "!!binary":
		r.bad(n, name, "text, not !!binary")
		return "", false
	}
	return n.Value, true
}

// optional reads text; null is "".
func (r *reader) optional(n *yaml.Node, name string) (string, bool) {
	if yamlfile.IsNull(n) {
		return "", true
	}
	return r.text(n, name)
}

// sized reads text of 1 to most bytes; null is an error.
func (r *reader) sized(n *yaml.Node, name string, most int) (string, bool) {
	text, ok := r.optional(n, name)
	if ok && (text == "" || len(text) > most) {
		r.bad(n, name, fmt.Sprintf("1 to %d bytes long", most))
		return "", false
	}
	return text, ok
}

// label reads a name or a key.
func (r *reader) label(n *yaml.Node, name string) (string, bool) {
	return r.sized(n, name, MaxNameBytes)
}

// value reads the value of an attribute, which may be empty.
func (r *reader) value(n *yaml.Node, name string) (string, bool) {
	text, ok := r.text(n, name)
	if ok && len(text) > MaxValueBytes {
		r.bad(n, name, fmt.Sprintf("at most %d bytes long", MaxValueBytes))
		return "", false
	}
	return text, ok
}

// labels reads a name or several names, each once.
func (r *reader) labels(n *yaml.Node, name string) (names []Name) {
	for _, item := range r.oneOrMore(n, name) {
		if item = r.follow(item); item == nil {
			return nil
		}
		text, ok := r.label(item, name)
		if !ok {
			continue
		}
		for _, other := range names {
			if other.Text == text {
				r.mistake(item, fmt.Sprintf("%s has %q twice, it is already in line %d", name, text, other.Line))
			}
		}
		if len(names) == MaxWords {
			r.mistake(item, fmt.Sprintf("%s may have %d entries, got more", name, MaxWords))
			return names
		}
		names = append(names, Name{r.at(item), text})
	}
	return names
}

// oneOrMore returns the items of a list, or the node itself if it is not a list.
func (r *reader) oneOrMore(n *yaml.Node, name string) []*yaml.Node {
	if n.Kind == yaml.ScalarNode && !yamlfile.IsNull(n) {
		return []*yaml.Node{n}
	}
	return r.items(n, name)
}

// boolean reads a boolean of YAML 1.1; null is false.
func (r *reader) boolean(n *yaml.Node, name string) bool {
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!bool" || n.Tag == "!!null" || n.Tag == "!!str" && isPlain(n)) {
		switch n.Value {
		case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE":
			return true
		case "n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE", "", "~", "null", "Null", "NULL":
			return false
		}
	}
	r.bad(n, name, "true or false, without quotes")
	return false
}

// isPlain reports whether a scalar is written without quotes.
func isPlain(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
}

// whole reads a whole number of YAML 1.1 within bounds; null is 0, if that is allowed.
func (r *reader) whole(n *yaml.Node, name string, least, most int64) (int64, bool) {
	var v int64
	ok := n.Kind == yaml.ScalarNode
	switch {
	case !ok:
	case n.Tag == "!!int":
		v, ok = parseWhole(n.Value)
	default:
		ok = yamlfile.IsNull(n)
	}
	if !ok || v < least || v > most {
		r.bad(n, name, fmt.Sprintf("a whole number from %d to %d, without quotes", least, most))
		return 0, false
	}
	return v, true
}

// parseWhole parses a whole number with an optional base, as in 010, 0x1F, 0b1 and 1_000.
func parseWhole(text string) (int64, bool) {
	v, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 64)
	return v, err == nil
}

func isWhole(text string) bool {
	if len(text) < len("-9223372036854775808") {
		return true
	}
	_, ok := parseWhole(text)
	return ok
}

// duration reads a length of time into nanoseconds: a number of seconds or with a unit.
func (r *reader) duration(n *yaml.Node, name string) (int64, bool) {
	if n.Kind == yaml.ScalarNode {
		if nanos, err := limiters.ParseDuration(name, []byte(n.Value)); err == nil {
			return nanos, true
		}
	}
	r.bad(n, name, "a duration of 1us to 10 years, such as 500ms, 10m or 1d")
	return 0, false
}

// hundredths reads a number with at most two decimals.
func (r *reader) hundredths(n *yaml.Node, name string, least, most int64) (int64, bool) {
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!int" || n.Tag == "!!float") {
		whole, decimals, _ := strings.Cut(n.Value, ".")
		v, err := strconv.ParseInt(whole+(decimals + "00")[:2], 10, 64)
		if err == nil && len(decimals) <= 2 && v >= least && v <= most {
			return v, true
		}
	}
	r.bad(n, name, fmt.Sprintf("a number from %d to %d with at most two decimals", least/100, most/100))
	return 0, false
}

// This file reads scalars as YAML 1.1 has them, which envoyproxy/ratelimit reads.
