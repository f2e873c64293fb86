// Package rules compiles rule sets, and finds the limits that a request meets.
//
// A rule set is YAML, one document for each domain: a tree of descriptors in the form of
// envoyproxy/ratelimit, rules over attributes in any order, or both. Package rules/source
// reads it. Compile makes an immutable Set. Set.Match turns the attributes of a request
// into counters with the parameters of the engine, and into guards, the penalty boxes of
// the matched rules. It decides nothing, and has no clock, goroutine or I/O.
//
//	text -> source.Parse -> source.Document -> Compile -> Set
//	Request, Overrides, now -> Set.Match -> Result -> the ops of one group
//
// Overrides are changes for one customer, kept apart from the set, because they change
// more often than the text.
//
// # Promises
//
//   - Match allocates nothing in the steady state, takes no lock, and costs
//     O(entries + candidate rules). Compile bounds the candidates.
//   - A mistake in the text is an error FILE:LINE with the allowed and the given value.
//   - Two different counters never share a key, for any bytes in keys and values.
package rules
