package tracking

import (
	"strings"

	"limitsrv/engine"
)

// severalOrigins is the origin of a key that more than one client has changed.
const severalOrigins = -1

// broadcast sends each client with prefixes the keys that have changed: a message for each client
// and prefix.
func (t *Table) broadcast(changes []engine.Change) {
	for prefix, clients := range t.prefixes {
		keys, origins := withPrefix(changes, prefix)
		if len(keys) == 0 {
			continue
		}
		all := invalidate(keys)
		for c := range clients {
			if !c.options.NoLoop {
				c.send(all)
				continue
			}
			var others []string
			for _, key := range keys {
				if !c.ignores(origins[key]) {
					others = append(others, key)
				}
			}
			if len(others) > 0 {
				c.send(invalidate(others))
			}
		}
	}
}

// withPrefix returns each changed key with a prefix once, and the origin of its changes.
func withPrefix(changes []engine.Change, prefix string) (keys []string, origins map[string]int64) {
	origins = map[string]int64{}
	for i := range changes {
		key := string(changes[i].Key)
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		origin, seen := origins[key]
		if !seen {
			keys, origins[key] = append(keys, key), changes[i].Origin
		} else if origin != changes[i].Origin {
			origins[key] = severalOrigins
		}
	}
	return keys, origins
}

// isHeard reports whether some client has a prefix of the key.
func (t *Table) isHeard(key []byte) bool {
	for p := range t.prefixes {
		if strings.HasPrefix(string(key), p) {
			return true
		}
	}
	return false
}
