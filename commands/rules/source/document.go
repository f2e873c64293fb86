package source

import (
	"fmt"
	"net/netip"
	"strings"

	"limitsrv/engine"
)

// A File is the text of a file, and its name in mistakes.
type File struct {
	Name string
	Text []byte
}

// An At is a place in a text: FILE:LINE.
type At struct {
	File string
	Line int
}

func (a At) String() string { return fmt.Sprintf("%s:%d", a.File, a.Line) }

// A Mistake is an error or a warning about a place.
type Mistake struct {
	At
	Text string
}

func (m Mistake) Error() string { return m.At.String() + ": " + m.Text }

// Mistakes are the errors of a text, in its order: 1 to MaxMistakes of them.
type Mistakes []Mistake

func (m Mistakes) Error() string {
	var b strings.Builder
	for i := range m {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(m[i].Error())
	}
	return b.String()
}

// A Document has the rules of a domain.
type Document struct {
	At
	// Domain is "" in a document that only has MergeDomains.
	Domain        string
	Descriptors   []Descriptor
	Rules         []Rule
	Lists         []List
	Deny, Allow   []Name
	DenyUnmatched bool   // unmatched: deny
	NoQuorum      string // error, allow, deny, local, or ""
	// IgnoreRequestLimits is request_limits: false.
	IgnoreRequestLimits bool
	HTTP                []HeaderAttribute
	// Addresses are the keys under the word addresses. OwnAddresses is set if the word occurs.
	Addresses    []Name
	OwnAddresses bool
	// Paths are the keys under the word paths.
	Paths []PathKey
	// MergeDomains is merge_domains: true. It holds for the whole text.
	MergeDomains bool
	// Settings are the words of the document besides domain, descriptors, rules and
	// merge_domains.
	Settings []Name
	Warnings []Mistake
}

// A Name is a name and its place.
type Name struct {
	At
	Text string
}

// A Descriptor is a node of the tree.
type Descriptor struct {
	At
	Key, Value     string // no Value is any value
	Limits         []Limit
	Descriptors    []Descriptor
	Shadow, Quota  bool
	DetailedMetric bool
	ValueToMetric  bool
	ShareThreshold bool
	Metadata       map[string]any // nil without any
	Penalty        *Penalty
}

// A Limit is a limit, or the word unlimited.
type Limit struct {
	At
	Unlimited bool
	Count     int64 // 0 denies every request
	Alg       engine.Alg
	// Window is the length of the window, the period of the rate, or the ttl, in
	// nanoseconds; 0 if Calendar is set.
	Window   int64
	Calendar engine.Calendar
	Burst    int64 // the capacity of TOKEN and LEAKY; Count if the text has no capacity
	// Name is "" if the text has no name.
	Name     string
	Grace    int64
	WarnAt   int64 // percent, 1 to 100
	Events   bool  // its thresholds are events
	Replaces []Name
	// Requests is set if the limit takes one of each request, and not its hits: hits: 1.
	Requests bool
	// Weights are the weights of named amounts, in the order of the names; nil: the limit counts
	// requests.
	Weights []Weight
}

// A Rule is a rule of the form with attributes in any order.
type Rule struct {
	At
	Name  string
	Match []Match
	Per   []string
	// PerBits are the ranges of Per, by index; nil: all addresses count alone.
	PerBits []Bits
	// Tier is the attribute that chooses one of Tiers; "" if Limits hold for all.
	Tier          string
	Limits        []Limit
	Tiers         []Tier
	Penalty       *Penalty
	Shadow, Quota bool
	Replaces      []Name
	Metadata      map[string]any
}

// A Match is the condition that an attribute has one of some values.
type Match struct {
	At
	Key    string
	Values []string // never empty; * stands for any bytes
}

// A Tier has the limits for a value of the tier's attribute; default stands for all other
// values.
type Tier struct {
	At
	Name   string
	Limits []Limit
	Same   string // the tier with the same limits; "" if it has its own
}

// A List is a list of values of an attribute.
type List struct {
	At
	Name, Key string
	Values    []string
	Prefixes  []netip.Prefix
	// IgnoresInvalid is invalid: ignore. Without it, a list under deny with Prefixes denies values
	// that are not addresses.
	IgnoresInvalid bool
}

// Bits are the prefix lengths of the ranges that share a counter; 0: each address counts alone.
type Bits struct{ V4, V6 uint8 }

// A PathForm selects, by flags, which spellings of a path are equal.
type PathForm uint8

// The flags of a PathForm, in the order of PathWords.
const (
	PathPlain  PathForm = 1 << iota // without query, escapes, empty segments and dots
	PathSlash                       // without slashes at the end
	PathParams                      // without parameters of segments: ;v=1
	PathCase                        // in lower case, for letters of ASCII
)

// A PathKey is a key of paths, with the form of these paths.
type PathKey struct {
	At
	Key  string
	Form PathForm
}

// A Penalty is the parameters of a penalty box. After is at most MaxPenaltyAfter.
type Penalty struct {
	At
	engine.Penalty
	Events bool // each closing is an event
}

// A HeaderAttribute tells how the endpoint forward makes an attribute of a header.
type HeaderAttribute struct {
	At
	Key, Header string
	// Index selects a part of a list with commas, from its end: -1 is the last part. 0
	// takes the whole value.
	Index int
}
