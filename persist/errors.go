package persist

import (
	"fmt"
	"slices"
	"strings"
)

// A CorruptError reports that data on disk differs from the data written: it was damaged,
// truncated, or is not from limitsrv. The data was not used, and nothing was changed.
type CorruptError struct {
	What   string // the damaged object, for example "snapshot 5"
	File   string // empty if unknown
	Offset int64  // in File, of the first unusable byte; 0 if unknown
	Reason string
	Err    error
}

func (e *CorruptError) Error() string {
	text := e.What
	if text == "" {
		text = e.File
	}
	text += " is damaged"
	if e.File != "" && e.File != e.What && e.What != "" {
		text += " in " + e.File
	}
	if e.Offset > 0 {
		text += fmt.Sprintf(" at byte %d", e.Offset)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *CorruptError) Unwrap() error { return e.Err }

// A NewerError reports data of a newer limitsrv.
type NewerError struct {
	What, File    string // File is empty if unknown
	Format, Known int
}

func (e *NewerError) Error() string {
	text := e.What
	if e.File != "" {
		text += " (" + e.File + ")"
	}
	return fmt.Sprintf("%s has format %d, and this limitsrv supports formats up to %d: run the newer version that wrote "+
		"it", text, e.Format, e.Known)
}

// oneLine wraps an error and removes line breaks and repeated lines from its text: Pebble
// repeats itself, and adds lines of internal detail.
type oneLine struct{ error }

// pebbleDetail is a line without information that Pebble adds to an error.
const pebbleDetail = "<corruption detail carrier>"

func (e oneLine) Error() string {
	var lines []string
	for line := range strings.Lines(e.error.Error()) {
		line = strings.TrimSpace(line)
		said := func(earlier string) bool { return strings.HasSuffix(earlier, line) }
		if line != "" && line != pebbleDetail && !slices.ContainsFunc(lines, said) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

func (e oneLine) Unwrap() error { return e.error }
