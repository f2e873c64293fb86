package rules

import (
	"fmt"
	"slices"
	"sort"

	"limitsrv/commands/rules/source"
	"limitsrv/commands/weighing"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// A Mode is the part of a limit in the decision of its group.
type Mode uint8

const (
	// Enforced limits must all pass.
	Enforced Mode = iota
	// Shadow limits count if they pass, and never deny.
	Shadow
	// Quota limits deny a request only if all its quota limits deny.
	Quota
)

// String returns the word for a mode in replies: enforced, shadow or quota.
func (m Mode) String() string { return [...]string{"enforced", "shadow", "quota"}[m] }

// A Limit is a limit of a Set. It is immutable.
type Limit struct {
	// Params are the parameters for the engine, valid and in lowest terms. Their Limit
	// includes Grace. For a limit of 0 it is 1: see None.
	Params engine.Params
	// Quota is the limit that clients are told, without Grace: the capacity of TOKEN and
	// LEAKY, otherwise Count; 0 if None.
	Quota int64
	// Count is the number of requests in a Window, or of leases.
	Count int64
	// Window is the length of the window, of the period of the rate, or of the ttl, in
	// nanoseconds, as it is written: 1s for 10/s. A month of the calendar counts as 30 days,
	// a year as 365.
	Window int64
	// Grace is the number of requests that pass beyond Quota, with the reason grace.
	Grace int64
	// NearAbove is a use. A request that passed above it has the reason near: the whole
	// part of Quota * warn_at / 100.
	NearAbove int64
	// Events is set if the thresholds of the limit are events: see checks.Event.
	Events bool
	Mode   Mode
	// None marks a limit of 0, which denies every request. It needs no counter: a Take of
	// engine.MaxN tokens under Params is denied for ever and changes nothing.
	None bool
	// Index is the number of the limit in its Set, below Set.NumLimits.
	Index int
	// Name is the name for clients: RULE/LIMIT, or the path in the tree.
	Name string
	// Label is the last part of the name: slide-1m.
	Label string
	Rule  *Rule
	// Tier is the value of the tier of the rule; "" without tiers.
	Tier string
	// Given is the name in the text, for current_limit.name; "" without a name.
	Given string
	// DetailedMetric and ValueMetric are the words detailed_metric and value_to_metric of a
	// tree; bit i of ValueMetric is for level i. With one of them a Met has a Label.
	DetailedMetric bool
	ValueMetric    uint32

	unlimited bool
	requests  bool            // takes one of each request: hits: 1
	weights   []source.Weight // in the order of their names; empty: none
	warnAt    int64           // percent
	names     [2]int32        // numbers in the domain of names that replaces lists; -1: no list
	replaces  []int32         // such numbers
	suffix    string          // of the counter's key: #ALG or #ALG:NAME
	labels    []labelPart
	at        source.At
}

// HasLeases reports whether the limit counts leases: its op is an Acquire with the
// request's ID instead of a Take.
func (l *Limit) HasLeases() bool { return !l.Params.Alg.IsCounted() }

// A Rule is a rule, or a node of the tree with a limit. It is immutable.
type Rule struct {
	Domain *Domain
	// Name is the name of the rule, or the path of the node: tenant=acme/path.
	Name string
	// Tree is set for a node of the tree.
	Tree bool
	// Sent is set for a limit that a request has sent.
	Sent bool
	// Penalty is nil without a penalty box.
	Penalty *source.Penalty
	// Metadata is nil without the word. It must not be changed: see MergeMetadata.
	Metadata map[string]any

	index  int    // in the rules of the domain, if it is not of the tree
	shares uint32 // bit i: share_threshold of level i of the tree
}

// noQuorumOf returns the policy for a value of no_quorum; "" is the default.
func noQuorumOf(word string) engine.NoQuorum {
	return engine.NoQuorum(1 + slices.Index(source.NoQuorumWords, word))
}

// NoQuorumWord returns the value of no_quorum; "" for the default.
func (d *Domain) NoQuorumWord() string {
	if d.NoQuorum == engine.NoQuorumDefault {
		return ""
	}
	return source.NoQuorumWords[d.NoQuorum-1]
}

// A Domain has the settings of a document. It is immutable.
type Domain struct {
	Name string
	// Index is the number of the domain in its Set.
	Index int
	// NoQuorum is the policy for requests while there is no majority.
	NoQuorum engine.NoQuorum
	// DenyUnmatched is set if requests without a matching rule are denied.
	DenyUnmatched bool
	// RequestLimits is set if the limit that comes with a descriptor counts.
	RequestLimits bool
	// HTTP are the attributes of the endpoint forward.
	HTTP []source.HeaderAttribute

	// forms are the keys with a canonical form. With defaultAddresses the keys of isDefaultAddress
	// have a form too. formLengths has the lengthBit of each of these keys.
	forms            []keyForm
	formLengths      uint64
	defaultAddresses bool

	amounts    []string // that weights of limits name, in their order
	id         uint64   // from 1 on, of no other Domain of the process
	direct     bool     // there are rules, and neither lists nor a tree: see way
	stem       string   // of keys: rule:DOMAIN
	attributes attributes
	lists      lists
	tree       tree
	flat       flat
	request    Rule // of the limits that come with requests
	// replaced is the number of names that replaces lists.
	replaced int
}

// checkAmounts checks the number and the names of amounts. Only names that a limit of the domain weighs
// are allowed, because a mistyped amount would count nothing. d may be nil: an unknown domain allows all.
func (d *Domain) checkAmounts(all []weighing.Amount) error {
	if n := len(all); n > weighing.MostNames {
		return fmt.Errorf("a request may have %d amounts, got %d", weighing.MostNames, n)
	}
	for i := range all {
		name := all[i].Name
		if d != nil && !d.weighs(name) {
			return fmt.Errorf("amount: one that a limit of %s weighs, got %s%s", d.Name, word.Excerpt(name),
				word.Meant(string(name), d.amounts))
		}
		if weighing.Has(all[:i], name) {
			return fmt.Errorf("each amount may be given once, got %s twice", word.Excerpt(name))
		}
	}
	return nil
}

// weighs reports whether a limit of the domain has a weight for an amount.
func (d *Domain) weighs(name []byte) bool {
	at := sort.Search(len(d.amounts), func(i int) bool { return d.amounts[i] >= string(name) })
	return at < len(d.amounts) && d.amounts[at] == string(name)
}
