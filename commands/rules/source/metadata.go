package source

import (
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"limitsrv/internal/yamlfile"
)

// metadata reads a map of any content. Numbers are float64, as in JSON.
func (r *reader) metadata(n *yaml.Node) map[string]any {
	if yamlfile.IsNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.bad(n, "metadata", "a mapping")
		return nil
	}
	left := MaxMetadata
	v, _ := r.anything(n, &left).(map[string]any)
	if left < 0 {
		r.mistake(n, fmt.Sprintf("metadata may have %d parts, got more", MaxMetadata))
	}
	if len(v) == 0 {
		return nil
	}
	return v
}

// anything reads any content as JSON has it; left counts the parts that it may still have.
func (r *reader) anything(n *yaml.Node, left *int) any {
	if *left--; *left < 0 {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		fields, mark, ok := r.words(n, "metadata")
		defer r.release(mark)
		if !ok {
			return nil
		}
		m := make(map[string]any, len(fields))
		for _, f := range fields {
			m[f.word] = r.anything(f.value, left)
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, 0, min(len(n.Content), MaxMetadata))
		for _, item := range n.Content {
			if item = r.follow(item); item == nil || *left < 0 {
				return nil
			}
			list = append(list, r.anything(item, left))
		}
		return list
	}
	return r.scalar(n)
}

// scalar reads a scalar of metadata.
func (r *reader) scalar(n *yaml.Node) any {
	var v any
	switch n.Tag {
	case "!!null":
		return nil
	case "!!int", "!!float":
		var number float64
		if err := n.Decode(&number); err == nil && !math.IsInf(number, 0) && !math.IsNaN(number) {
			return number
		}
		r.bad(n, "a number in metadata", "finite")
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	default:
		v = n.Value
	}
	if isPlain(n) {
		switch n.Value {
		case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
			return true
		case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
			return false
		}
	}
	return v
}
