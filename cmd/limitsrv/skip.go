package main

import (
	"errors"
	"fmt"

	"limitsrv/cmd/limitsrv/state"
	"limitsrv/persist"
	"limitsrv/replication/offline"
)

// skipEntry is limitsrv recover --skip-entry.
func skipEntry(c call, o *recoverOptions) int {
	kept, err := offline.SkipEntry(offline.Options{Dir: o.Dir, Commands: state.Commands}, o.SkipEntry,
		func(f *persist.Found) bool {
			fmt.Fprintf(c.stdout, "entry:  %d\nwhat:   %s\ndeaths: %s\n\n", o.SkipEntry, f.What, deathsText(f.Count))
			return o.Yes || c.ask(fmt.Sprintf("All decisions of the entry will be lost, and %s changed. In a cluster each "+
				"node must be treated alike. Continue?", o.Dir))
		})
	switch {
	case errors.Is(err, persist.ErrNothingToSkip):
		fmt.Fprintf(c.stdout, "Nothing was changed: %v.\n", err)
	case err != nil:
		fmt.Fprintf(c.stderr, "limitsrv recover: %v\n", err)
		return exitFailure
	case kept == "":
		fmt.Fprintln(c.stdout, "Nothing was changed.")
	default:
		fmt.Fprintf(c.stdout, "Done. Entry %d is skipped from now on; %s keeps it.\n", o.SkipEntry, kept)
	}
	return exitOK
}

// deathsText says how many processes ended at an entry.
func deathsText(count int) string {
	if count == 0 {
		return "no process is known to have ended while it applied this entry"
	}
	return fmt.Sprintf("%d processes in a row ended while they applied this entry", count)
}
