package scripts

import "limitsrv/engine"

// Counter returns the number of the counter for a command's calls by scripts, see
// engine.Tx.CountCommand. name is in capitals.
func Counter(name string) (number int, ok bool) {
	c := commands[name]
	if c == nil {
		return 0, false
	}
	return int(c.counter), true
}

// count returns the counts of a command in the runs of this batch. The caller must change them.
func (m *machine) count(c *command) *engine.CommandCount {
	n := &m.counts[c.counter]
	if n.Calls|n.Rejected == 0 {
		m.counted = append(m.counted, c.counter)
	}
	return n
}

// reject counts a rejected command. c is nil for an unknown command.
func (m *machine) reject(c *command) {
	if c != nil && !c.isNewer(m.tx.Level()) {
		m.count(c).Rejected++
	}
}

// addCounts adds the counts to the engine's counts, which all processors share: once for a batch.
func (m *machine) addCounts() {
	for _, number := range m.counted {
		m.tx.CountCommand(int(number), m.counts[number])
		m.counts[number] = engine.CommandCount{}
	}
	m.counted = m.counted[:0]
}
