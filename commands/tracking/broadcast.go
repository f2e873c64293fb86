package tracking

import "limitsrv/engine"

// severalOrigins is the origin of a key that more than one client has changed.
const severalOrigins = -1

// broadcast sends each client with prefixes the keys that have changed: a message for each client
// and prefix.
func (t *Table) broadcast(changes []engine.Change) {
	origins, changed := map[string]int64{}, map[string][]string{} // by key; the keys by prefix
	for i := range changes {
		if !t.prefixes.hears(changes[i].Key) {
			continue
		}
		key := string(changes[i].Key)
		origin, seen := origins[key]
		switch {
		case seen && origin != changes[i].Origin:
			origins[key] = severalOrigins
		case !seen:
			origins[key] = changes[i].Origin
			for prefix := range t.prefixes.of(changes[i].Key) {
				changed[prefix] = append(changed[prefix], key)
			}
		}
	}
	sole := map[int64]struct{}{} // the clients that alone have changed a key
	for _, origin := range origins {
		sole[origin] = struct{}{}
	}
	for prefix, keys := range changed {
		all := invalidate(keys)
		for c := range t.prefixes.clients[prefix] {
			if _, alone := sole[c.id]; !alone || !c.options.NoLoop {
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
