package rules

import (
	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// limitTexts are texts that follow from a limit alone. Most limits of a set share a few.
type limitTexts struct {
	label                  string
	ruleSuffix, treeSuffix string // of the counter's key
}

// A textKey has the parts of a limit that its texts follow from.
type textKey struct {
	alg      engine.Alg
	calendar engine.Calendar
	none     bool
	window   int64
	name     string
}

// maxTexts bounds the texts that a compiler remembers.
const maxTexts = 1000

// textsOf returns the texts of a limit.
func (c *compiler) textsOf(l *source.Limit) limitTexts {
	key := textKey{l.Alg, l.Calendar, l.Count == 0, l.Window, l.Name}
	t, known := c.texts[key]
	if known {
		return t
	}
	alg := l.Alg
	if l.Count == 0 {
		alg = deniedAlg
	}
	t.label = label(l)
	t.treeSuffix = "#" + alg.String()
	t.ruleSuffix = string(appendEscaped([]byte(t.treeSuffix+":"), t.label))
	if len(c.texts) == maxTexts {
		clear(c.texts)
	}
	c.texts[key] = t
	return t
}
