package main

// againstMemoryHeader is the header of the table on the cost of persistence.
var againstMemoryHeader = row{"load", "speed", "cost", "limitsrv --data", "limitsrv in memory"}

// durabilityRows returns a row for each comparison at each pipeline depth.
func (r report) durabilityRows(comparisons []comparison) []row {
	var rows []row
	for _, c := range comparisons {
		for _, st := range r.durabilities {
			line := st.pair(c).row()
			line[0] = "fsync " + c.one.fsync + ", " + line[0]
			rows = append(rows, line)
		}
	}
	return rows
}

// durabilityAtLeast returns the check of a target for the speed of one mode relative to
// another.
func durabilityAtLeast(c comparison, pipeline int, want float64) func(report) (string, bool, bool) {
	return func(r report) (string, bool, bool) {
		for _, st := range r.durabilities {
			if st.load == durabilityLoad(1_000_000, pipeline) {
				f := st.pair(c).speedup()
				return ratioText(f), f.median >= want, true
			}
		}
		return "", false, false
	}
}
