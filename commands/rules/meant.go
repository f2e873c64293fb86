package rules

import (
	"fmt"
	"strings"

	"limitsrv/commands/word"
)

// meant is the end of an error about an unknown name: it has the nearest name, or else all names.
func meant(name string, all []string) string {
	if nearest := word.DidYouMean([]byte(name), all...); nearest != "" {
		return nearest
	}
	return "; there are " + some(all)
}

// some joins names for an error, at most ten of them.
func some(names []string) string {
	const most = 10
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > most:
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}
