package checks

import "limitsrv/commands/rules"

// A Reason is the cause of an answer.
type Reason uint8

const (
	// OK means that all limits passed.
	OK Reason = iota
	// Near means that all passed, and that the binding limit is used above its warn_at.
	Near
	// Grace means that all passed, the binding limit only because of its grace.
	Grace
	// Limited means that an enforced limit denied.
	Limited
	// Quota means that all quota limits denied.
	Quota
	// Blocked means that a penalty box is closed, or that the key of a limit is blocked.
	Blocked
	// Denied means that a list or an override denied.
	Denied
	// Allowed means that a list or an override allowed.
	Allowed
	// Unlimited means that a rule without limit matched, and no other.
	Unlimited
	// None means that no limit applies.
	None
	// Unmatched means that no rule matched in a domain that denies such requests.
	Unmatched
)

// String returns the word of a reason in replies.
func (r Reason) String() string {
	return [...]string{"ok", "near", "grace", "limited", "quota", "blocked", "denied", "allowed", "unlimited", "none",
		"unmatched"}[r]
}

// A Row is the state of a limit after the decision, or the whole answer.
type Row struct {
	Allowed bool
	// Limit and Remaining are without grace; -1 in an answer without a binding limit.
	Limit, Remaining int64
	// WaitMillis is the time until the same request would pass, rounded up, or -1 if it
	// never will; of a limit that passed it is 0, except under LEAKY: the time to hold the
	// request.
	WaitMillis int64
	// ResetMillis is the time until the limit is fully reset, rounded up.
	ResetMillis int64
	// Name is the name of the limit. For a closed penalty box it is the name of the rule with the box.
	// It is "" in an answer without a limit.
	Name string
}

// A Met is a limit that a request meets, as far as its answer needs it: see rules.Met.
type Met struct {
	Limit *rules.Limit
	Named *rules.Limit // has the name for clients: see rules.Met.Name
	Rule  *rules.Rule
	index int32 // in the set, or -1
	// Descriptor is below rules.MaxDescriptors; Guard, of the boxes of the request, below
	// engine.MaxGroup, or -1.
	Descriptor uint8
	Guard      int8
	Mode       rules.Mode
	// Overruled is set if only the server-wide shadow mode makes the limit a shadow limit.
	Overruled bool
	hasEvents bool  // rules.Met.HasEvents
	op        uint8 // index into the ops of the request
	takesOne  bool  // rules.Met.TakesOne, or of a request with amounts: without weights
	hits      int64 // rules.Met.Hits
}

// IsShadow reports whether the rule itself makes the limit a shadow limit.
func (m *Met) IsShadow() bool { return m.Mode == rules.Shadow && !m.Overruled }

// A Closing is a penalty box that a request closed. It is valid as long as the Answer.
type Closing struct {
	*rules.Guard
	Level  int64 // of the box now, from 1
	Millis int64 // until it opens
}

// An Answer is the decision about a request. It is reused: the zero value is ready.
type Answer struct {
	// Row is the state of the binding limit: the denying limit with the longest wait, or if all
	// pass, the limit with the least remaining. Of equal limits it is the first.
	Row
	Reason Reason
	// Granted is the number of tokens that a partial reservation has from each limit without hits: 1,
	// or 0 for any other request.
	Granted int64
	// Binding is the index in Rows of the binding limit, or -1.
	Binding int
	// Descriptor is the index of the descriptor with the binding limit, or with the box that
	// blocks; -1 without such a descriptor. If several have it, it is the first.
	Descriptor int
	// Rows are the limits of the request in the order of Met. No limit of a blocked request
	// is looked at, so it has no rows.
	Rows []Row
	// Boxes are the closed penalty boxes of a request that is blocked, or a blocked key.
	Boxes []Box
	// Met are the limits that the request meets, Shared the further descriptors that meet one
	// of them, and Descriptors the verdict on each descriptor. The Check owns all of them;
	// they are valid until its next use.
	Met         []Met
	Shared      []rules.Shared
	Descriptors []rules.Verdict
	// Closed are the penalty boxes that the request closed.
	Closed []Closing
}

// A Box is a closed penalty box, or a blocked key of a limit.
type Box struct {
	// Row is the answer of the box: the times until it opens, and until its level is 0.
	Row
	Limit      int // 1 + the index in Met of the limit with a blocked key; 0: a penalty box
	Guard      int // Met.Guard of the limits that the penalty box guards; 0 for a blocked key
	Descriptor int // of the limit with the blocked key, or of the first guarded limit
}

// Holds reports whether limit i of the request, which is m, is guarded by the box or has the blocked
// key.
func (b *Box) Holds(i int, m *Met) bool {
	return i == b.Limit-1 || b.Limit == 0 && int(m.Guard) == b.Guard
}
