package tracking

import (
	"iter"
	"slices"
)

// A prefixSet has the clients of each broadcast prefix. The zero value is empty.
type prefixSet struct {
	clients map[string]map[*Client]struct{}
	// counts has the number of prefixes of each length, and lengths the lengths with prefixes, in
	// ascending order.
	counts  []int
	lengths []int
}

// add adds a client to a prefix.
func (s *prefixSet) add(p string, c *Client) {
	if s.clients[p] == nil {
		if s.clients == nil {
			s.clients = map[string]map[*Client]struct{}{}
		}
		s.clients[p] = map[*Client]struct{}{}
		s.count(len(p), 1)
	}
	s.clients[p][c] = struct{}{}
}

// remove removes a client from a prefix.
func (s *prefixSet) remove(p string, c *Client) {
	delete(s.clients[p], c)
	if len(s.clients[p]) == 0 {
		delete(s.clients, p)
		s.count(len(p), -1)
	}
}

// count adds to the number of prefixes of a length.
func (s *prefixSet) count(length, more int) {
	for len(s.counts) <= length {
		s.counts = append(s.counts, 0)
	}
	s.counts[length] += more
	at, there := slices.BinarySearch(s.lengths, length)
	switch {
	case !there:
		s.lengths = slices.Insert(s.lengths, at, length)
	case s.counts[length] == 0:
		s.lengths = slices.Delete(s.lengths, at, at+1)
	}
}

// of yields the prefixes of a key, with their clients. Cost: a search for each length that prefixes
// have, up to the length of the key. It does not depend on the number of prefixes.
func (s *prefixSet) of(key []byte) iter.Seq2[string, map[*Client]struct{}] {
	return func(yield func(string, map[*Client]struct{}) bool) {
		for _, n := range s.lengths {
			if n > len(key) {
				return
			}
			if clients := s.clients[string(key[:n])]; clients != nil && !yield(string(key[:n]), clients) {
				return
			}
		}
	}
}

// hears reports whether some client has a prefix of the key.
func (s *prefixSet) hears(key []byte) bool {
	for range s.of(key) {
		return true
	}
	return false
}
