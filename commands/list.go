package commands

// Table is every command there is, in the order of help and the README. Nobody
// may change it.
func Table() []*Command { return table }
