package persist

import "fmt"

// A CorruptError says that data on disk is not what was written. Nothing of it
// was used, and nothing was changed.
type CorruptError struct {
	File   string
	Offset int64 // in File, of the first byte that can not be used
	Reason string
	// Cut says that `limitsrv check --repair` can cut the log off there.
	Cut bool
}

func (e *CorruptError) Error() string {
	remedy := "restore it from a backup"
	if e.Cut {
		remedy = "`limitsrv check` shows what is left, `limitsrv check --repair` cuts the log off there and loses what follows"
	}
	return fmt.Sprintf("%s is damaged at byte %d: %s; %s", e.File, e.Offset, e.Reason, remedy)
}
