package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// features are the parts of Redis that a library may need, itself or in its scripts.
var features = []string{"strings", "lua", "hashes", "sorted-sets", "lists", "sets", "pubsub", "cjson", "struct",
	"cmsgpack"}

// A library is a row of libraries.txt: a package, used in one way.
type library struct {
	name, language, pkg string
	needs               []string
}

// An absent library is known to limit with Redis, but is not run.
type absent struct{ name, language, reason string }

// catalog is the content of libraries.txt.
type catalog struct {
	supported []string // features that limitsrv has
	libraries []library
	absent    []absent
}

// readCatalogue parses libraries.txt: lines of the words
//
//	supported FEATURE,...
//	library NAME LANGUAGE PACKAGE FEATURE,...
//	absent NAME LANGUAGE REASON...
func readCatalogue(file string) (catalog, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return catalog{}, err
	}
	var c catalog
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		var err error
		switch {
		case words[0] == "supported" && len(words) == 2:
			c.supported, err = parseFeatures(words[1])
		case words[0] == "library" && len(words) == 5:
			l := library{name: words[1], language: words[2], pkg: words[3]}
			l.needs, err = parseFeatures(words[4])
			c.libraries = append(c.libraries, l)
		case words[0] == "absent" && len(words) > 3:
			c.absent = append(c.absent, absent{words[1], words[2], strings.Join(words[3:], " ")})
		default:
			err = fmt.Errorf("not a line of its format: %q", line)
		}
		if err != nil {
			return catalog{}, fmt.Errorf("%s:%d: %w", file, number, err)
		}
	}
	return c, nil
}

func parseFeatures(list string) ([]string, error) {
	found := strings.Split(list, ",")
	for _, f := range found {
		if !slices.Contains(features, f) {
			return nil, fmt.Errorf("unknown feature %q, want one of %s", f, strings.Join(features, ", "))
		}
	}
	return found, nil
}

// missing returns the features of a that are not in b.
func missing(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(f string) bool { return slices.Contains(b, f) })
}
