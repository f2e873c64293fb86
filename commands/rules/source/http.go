package source

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// http reads the attributes of the endpoint forward.
func (r *reader) http(n *yaml.Node) (all []HeaderAttribute) {
	fields, mark, ok := r.words(n, "http")
	defer r.release(mark)
	if !ok {
		return nil
	}
	if len(fields) > MaxAttributes {
		r.mistake(n, fmt.Sprintf("http may have %d attributes, got %d", MaxAttributes, len(fields)))
		return nil
	}
	for _, f := range fields {
		a := HeaderAttribute{At: r.at(f.key), Key: f.word}
		text, ok := r.label(f.value, "a header of http")
		if _, named := r.label(f.key, "the name of an attribute"); !ok || !named {
			continue
		}
		name, index, indexed := strings.Cut(text, "[")
		a.Header = name
		if indexed {
			i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
			if a.Index = i; err != nil || !strings.HasSuffix(index, "]") || i > -1 || i < -MaxAttributes {
				r.bad(f.value, "a header of http",
					fmt.Sprintf("the name of a header, or with [-1] to [-%d] a part of its list, counted from the end", MaxAttributes))
				continue
			}
		}
		if !isToken(a.Header) {
			r.bad(f.value, "a header of http", "the name of a header, such as X-Forwarded-For[-1]")
			continue
		}
		all = append(all, a)
	}
	return all
}

// isToken reports whether text is a token of RFC 9110, as names of headers are.
func isToken(text string) bool {
	for i := range len(text) {
		c := text[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return text != ""
}
