package source

import "time"

// A Scenario is a document of test cases: requests at times, and their expected answers.
type Scenario struct {
	At
	Start time.Time // in the years 2000 to 2199
	Steps []Step    // never empty
}

// A Step is a request, an extension or a settlement of a reservation, or the setting of an override. All but the
// setting may be repeated at the same instant.
type Step struct {
	At
	Since time.Duration // from Start, not less than Since of the step before
	// Override, unless nil, is set or dropped instead of a request.
	Override *CaseOverride
	// Settlement, unless nil, is applied instead of a request.
	Settlement *CaseSettlement
	Domain     string
	// Descriptors have their attributes in the order of the text.
	Descriptors [][]Attribute
	Hits        int64 // 0 to engine.MaxN
	Settle      int64 // as in RL.SETTLE BY; 0 for a request of Hits
	// Amounts, unless nil, are asked for instead of Hits, or with Used instead of Settle.
	Amounts []CaseAmount
	Used    bool
	ID      string
	Peek    bool
	// Reserve, unless nil, reserves the tokens of the request if it passes.
	Reserve *CaseReserve
	Times   int // 1 to MaxCases
	Expect  []Expectation
}

// A CaseAmount is a named amount of a step, 0 to engine.MaxN, or with Used from -engine.MaxN on.
type CaseAmount struct {
	Name string
	N    int64
}

// A CaseReserve reserves the tokens of a request, as RESERVE of RL.CHECK.
type CaseReserve struct {
	ID      string
	TTL     time.Duration
	Keep    CaseKeep
	Partial bool
}

// A CaseSettlement is an extension, a commit or a cancel, as RL.EXTEND, RL.COMMIT and RL.CANCEL.
type CaseSettlement struct {
	Word   string // extend, commit or cancel
	ID     string
	TTL    time.Duration // TTL, By and Keep are of an extension
	By     int64         // 0 to engine.MaxN
	Keep   CaseKeep
	Actual []int64 // of a commit: 1 to engine.MaxGroup numbers from 0 to engine.MaxN
	// Amounts, unless nil, are committed instead of Actual: 1 to weighing.MostNames.
	Amounts []CaseAmount
}

// A CaseKeep is the number of tokens that stay taken when a reservation ends by its ttl.
type CaseKeep struct {
	Given bool
	All   bool
	N     int64 // 0 to engine.MaxN
}

// The words of steps that act on a reservation.
const (
	wordReserve = "reserve"
	wordExtend  = "extend"
	wordCommit  = "commit"
	wordCancel  = "cancel"
)

// A CaseOverride is an override as cases write it. The reader checks only the bounds of its
// names and values.
type CaseOverride struct {
	Domain string
	Path   []Attribute // in the order of the text
	Effect string      // one of EffectWords
	Limit  string      // the text of the limit, if the effect is limit
	Rule   string      // "": of the path
	TTL    time.Duration
}

// EffectWords are the effects of overrides in cases; drop removes an override.
var EffectWords = []string{"allow", "deny", "limit", "drop"}

// An Attribute is a key of a descriptor with its value.
type Attribute struct{ Key, Value string }

// An Expectation has the expected values of a field of the answers.
type Expectation struct {
	Field Field
	// Values has a value for all requests of the step, or a value for each.
	Values []Expected
}

// An Expected is a value of a field in its shortest form.
type Expected struct {
	At
	Text string
}

// A Field is a part of an answer, as RL.CHECK, RL.EXTEND, RL.COMMIT and RL.CANCEL reply it.
type Field uint8

// The fields in the order of the reply. Those before FieldRule are whole numbers.
const (
	FieldAllowed Field = iota // 1 or 0
	FieldLimit
	FieldRemaining
	FieldWait  // in milliseconds
	FieldReset // in milliseconds
	FieldDone  // 1 or 0
	FieldN     // tokens of a reservation
	FieldRule
	FieldReason
	FieldState // of a reservation, or unknown
	// FieldError is a part of the text of the error that is expected in place of an answer.
	FieldError
)

// fieldWords are the words of the fields, by Field.
var fieldWords = []string{"allowed", "limit", "remaining", "wait_ms", "reset_ms", "done", "n",
	"rule", "reason", "state",
	"error"}

// String returns the word of a field in cases.
func (f Field) String() string { return fieldWords[f] }
