package persist

import (
	"fmt"
	"slices"
	"strings"
)

// A CorruptError says that data on disk is not what was written there: it was
// damaged, cut short, or is not ours. Nothing of it was used, and nothing changed.
type CorruptError struct {
	What   string // that is damaged, such as "snapshot 5"
	File   string // where, as far as it is known
	Offset int64  // in File, of the first byte that can not be used; 0 if that is not known
	Reason string
	Err    error
	// Cut says that a repair can cut the log off there.
	Cut bool
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

// A NewerError says that a newer limitsrv wrote what is to be read.
type NewerError struct {
	What, File    string // File is empty if it is not known
	Format, Known int
}

func (e *NewerError) Error() string {
	text := e.What
	if e.File != "" {
		text += " (" + e.File + ")"
	}
	return fmt.Sprintf("%s has format %d, and this limitsrv knows formats up to %d: run the newer one that wrote it", text, e.Format, e.Known)
}

// oneLine is an error whose text has each thing once, on one line: Pebble says some
// twice, and on lines of their own what is for itself.
type oneLine struct{ error }

// pebbleDetail is a line that Pebble puts below an error and that says nothing.
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
