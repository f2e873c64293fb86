package options

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Put sets options in the text of the configuration file, to values in the form of
// CONFIG GET, and returns the new text. It fails if the text would not parse to the
// intended values.
//
// Requires: set has names of options.
func (c *Configuration) Put(text string, set map[string]string) (string, error) {
	inFile := map[string]string{}
	for name, value := range set {
		inFile[name] = fileValue(c.flag(name), value)
	}
	return putOptions(text, inFile, c)
}

// putOptions sets options in the text of a configuration file: each replaces the
// option's line, or follows its commented-out line, or is appended. All other lines are
// unchanged. It fails if the result would not parse to the intended values.
func putOptions(text string, set map[string]string, c *Configuration) (string, error) {
	want := map[string]string{}
	for name, e := range c.entries {
		want[name] = e.value
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		line := name + ": " + set[name]
		_, isThere := c.entries[name]
		option := regexp.MustCompile(`(?m)^` + name + `:[ \t]*(?:"[^"#\n]*"|'[^'#\n]*'|[^\s"'#]*)([ \t]+#.*|[ \t]*)$`)
		comment := regexp.MustCompile(`(?m)^#` + name + `:.*$`).FindStringIndex(text)
		switch {
		case isThere:
			text = option.ReplaceAllString(text, line+"${1}")
		case comment != nil:
			text = text[:comment[1]] + "\n" + line + text[comment[1]:]
		default:
			text = strings.TrimSuffix(text, "\n") + "\n" + line + "\n"
		}
		want[name] = set[name]
	}
	got, err := parseConfig(c.Config, []byte(text), c.fileFlags())
	if err != nil || !maps.EqualFunc(got, want, func(e entry, value string) bool { return e.value == value }) {
		return "", fmt.Errorf("%s has options in a form that can't be rewritten; use lines such as max-memory: 256mb",
			c.Config)
	}
	return text, nil
}
