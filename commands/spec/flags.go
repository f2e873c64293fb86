package spec

// Flags are the flags of COMMAND INFO, followed by internal flags.
type Flags uint32

const (
	Write Flags = 1 << iota
	ReadOnly
	DenyOOM
	Fast
	Admin
	NoAuth // allowed before login
	Loading
	Stale
	NoScript
	Blocking
	PubSub
	NoMulti   // rejected in a transaction
	Immediate // executed instead of queued in a transaction; internal
	Listener  // allowed for a RESP2 client with subscriptions; internal
	Unpaused  // not held back by CLIENT PAUSE; internal
	OwnArity  // Parse checks the number of args and has its own error; internal
	Forgets   // deletes limits, which decide does not allow; internal
	Reaches   // sends, receives or lists pub/sub messages, which requires pubsub; internal
	AllKeys   // lists or deletes keys without naming them, which requires the pattern *; internal
	Secret    // arguments may be secrets, which MONITOR and SLOWLOG hide; internal
	AuthWord  // of a Secret command: only the words after AUTH are secret; internal
	Executes  // executes the queued commands of a transaction; internal
	Plain     // works on values only, which the groups of limits do not allow; internal
	OpenEnded // more words than Args describes are left to Parse and the engine; internal
	Rules     // changes rules or overrides, or shows their text, which requires rules; internal
	Runs      // runs scripts or changes them, which requires admin, or with Uses scripting; internal
	Replaces  // may remove, move or shorten an existing value; internal
	Decides   // is a request with an Outcome; internal
	Draws     // draws random numbers; internal
)

// MayWrite reports whether a command may change a key.
func (f Flags) MayWrite() bool { return f&Write != 0 || f&(Runs|ReadOnly) == Runs }

// flagNames are the words of COMMAND INFO, by bit.
var flagNames = [...]string{
	"write", "readonly", "denyoom", "fast", "admin", "no_auth", "loading", "stale", "noscript", "blocking", "pubsub",
	"no_multi",
}

// Words returns the flags in the words of COMMAND INFO.
func (f Flags) Words() (words []string) {
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			words = append(words, name)
		}
	}
	return words
}
