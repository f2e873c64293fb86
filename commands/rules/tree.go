package rules

// A tree finds nodes by paths of attributes.
type tree struct {
	nodes []node // nodes[0] is the root
	table table  // (node, key, value or any) -> node
}

// isEmpty reports whether there is only the root.
func (t *tree) isEmpty() bool { return len(t.nodes) <= 1 }

// A node is a node of the tree.
type node struct {
	limits    []*Limit   // several limits of rate_limits, or one limit, which may be unlimited
	wildcards []wildcard // of the level below, in the order of the file
	rule      *Rule      // nil without a limit
	shared    *shared    // nil without share_threshold
	leaf      bool       // without a level below
}

// shared are the pattern of the key and of the value that stand in the counter's key.
type shared struct{ key, value string }

// A wildcard is a node of the level below with * in its key or value.
type wildcard struct {
	key        pattern
	value      pattern
	anyValue   bool
	literalKey string // "" if the key is a pattern
	node       int32
}

// matches reports whether an attribute matches the wildcard.
func (w *wildcard) matches(e *Entry) bool {
	if w.literalKey != "" {
		if w.literalKey != string(e.Key) {
			return false
		}
	} else if !w.key.matches(e.Key) {
		return false
	}
	return w.anyValue || w.value.matches(e.Value)
}
