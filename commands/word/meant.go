package word

import (
	"fmt"
	"strings"
)

// Meant is the end of an error about an unknown name: it has the nearest name, or else all names.
func Meant(name string, all []string) string {
	if nearest := DidYouMean([]byte(name), all...); nearest != "" {
		return nearest
	}
	return "; there are " + Some(all)
}

// Some joins names for an error, at most ten of them.
func Some(names []string) string {
	const most = 10
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > most:
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}
