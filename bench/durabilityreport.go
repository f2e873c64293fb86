package main

// besideMemoryHeader is of the table on what it costs to keep state.
var besideMemoryHeader = row{"load", "speed", "cost", "limitsrv --data", "limitsrv in memory"}

// durabilityRows are the lines of comparisons, at each depth of pipeline.
func (r report) durabilityRows(comparisons []comparison) []row {
	var rows []row
	for _, c := range comparisons {
		for _, st := range r.standings {
			line := st.duel(c).row()
			line[0] = "fsync " + c.one.fsync + ", " + line[0]
			rows = append(rows, line)
		}
	}
	return rows
}

// durabilityAtLeast wants a speed of one mode over another.
func durabilityAtLeast(c comparison, pipeline int, want float64) func(report) (string, bool, bool) {
	return func(r report) (string, bool, bool) {
		for _, st := range r.standings {
			if st.load == durabilityLoad(1_000_000, pipeline) {
				f := st.duel(c).faster()
				return ratioText(f), f.median >= want, true
			}
		}
		return "", false, false
	}
}
