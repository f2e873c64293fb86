package rules

import (
	"iter"

	"limitsrv/commands/rules/source"
)

// A Set is a compiled rule set. It is immutable, so that readers share it without a lock.
type Set struct {
	domains map[string]*Domain
	order   []*Domain // as in the text
	limits  []*Limit  // by Index
	rules   int
	// warnings are the likely mistakes that Compile and the reader saw.
	warnings []source.Mistake
}

// NumLimits is the number of limits: the length of an array of counters for them.
func (s *Set) NumLimits() int { return len(s.limits) }

// NumRules is the number of rules and of nodes of trees.
func (s *Set) NumRules() int { return s.rules }

// Limit returns the limit with an Index.
func (s *Set) Limit(index int) *Limit { return s.limits[index] }

// Limits yields the limits of a domain, or of all with the name "", in the order of the
// text, from the Index from on: for a listing in parts.
func (s *Set) Limits(domain string, from int) iter.Seq[*Limit] {
	return func(yield func(*Limit) bool) {
		for i := max(0, from); i < len(s.limits); i++ {
			if l := s.limits[i]; (domain == "" || l.Rule.Domain.Name == domain) && !yield(l) {
				return
			}
		}
	}
}

// Domains returns the domains in the order of the text.
func (s *Set) Domains() []*Domain { return s.order }

// Domain returns the domain with a name, or nil.
func (s *Set) Domain(name string) *Domain { return s.domains[name] }

// Warnings returns likely mistakes that are not errors, with FILE:LINE.
func (s *Set) Warnings() []source.Mistake { return s.warnings }
