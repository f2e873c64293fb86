package stored

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"limitsrv/commands/rules"
	"limitsrv/engine"
)

// The numbers of calls. They stand in logs: append, never reorder.
const (
	firstCall   uint16 = 3 << 12
	callLoad           = firstCall + iota - 1 // base, rules, sha, user, note, part ...: see loadArgs
	callSet                                   // name, time to live in ms, 0 for ever; override
	callDrop                                  // name
	callVersion                               // -
	callText                                  // version, 0 for the one in use
	callHistory                               // -
	callGet                                   // name
	callList                                  // domain, cursor, count
	callsEnd
)

// loadArgs is the number of arguments of a load before the parts of the text.
const loadArgs = 5

// readOnly reports whether a call changes nothing.
func readOnly(command uint16) bool { return command >= callVersion }

// arity has the least and the greatest number of arguments of each call.
var arity = [callsEnd - firstCall][2]int{
	callLoad - firstCall:    {loadArgs, loadArgs + maxParts},
	callSet - firstCall:     {3, 3},
	callDrop - firstCall:    {1, 1},
	callVersion - firstCall: {0, 0},
	callText - firstCall:    {1, 1},
	callHistory - firstCall: {0, 0},
	callGet - firstCall:     {1, 1},
	callList - firstCall:    {3, 3},
}

// callNames are the names of the calls, by number.
var callNames = [callsEnd - firstCall]string{
	callLoad - firstCall: "RL.RULES LOAD", callSet - firstCall: "RL.OVERRIDE SET", callDrop - firstCall: "RL.OVERRIDE DEL", callVersion - firstCall: "RL.RULES VERSION",
	callText - firstCall: "RL.RULES GET", callHistory - firstCall: "RL.RULES HISTORY", callGet - firstCall: "RL.OVERRIDE GET", callList - firstCall: "RL.OVERRIDE LIST",
}

// CallName returns the name of a call of this package, for messages, or "" if the number is not in
// use.
func CallName(number uint16) string {
	if number < firstCall || number >= callsEnd {
		return ""
	}
	return callNames[number-firstCall]
}

var errCall = errors.New("a call of rules that can not be")

// check returns an error if a call has arguments that no function of this package makes.
func check(c *engine.Call) error {
	if c.Command >= callsEnd {
		return fmt.Errorf("unknown command %d", c.Command)
	}
	if n, bounds := len(c.Args), arity[c.Command-firstCall]; n < bounds[0] || n > bounds[1] {
		return fmt.Errorf("call %d of rules with %d arguments", c.Command-firstCall, n)
	}
	c.ReadOnly = readOnly(c.Command)
	ok := true
	switch c.Command {
	case callLoad:
		ok = isNumber(c.Args[0]) && isNumber(c.Args[1]) && len(c.Args[2]) == len(Header{}.SHA) && len(c.Args[3]) <= MaxUserBytes && len(c.Args[4]) <= MaxNoteBytes &&
			!slices.ContainsFunc(c.Args[loadArgs:], func(part []byte) bool { return len(part) > engine.MaxDocumentBytes })
	case callSet:
		_, _, err := readOverride(string(c.Args[2]))
		ok = isOverrideName(string(c.Args[0])) && isNumber(c.Args[1]) && err == nil && len(c.Args[2]) <= maxOverrideBytes
	case callDrop, callGet:
		ok = isOverrideName(string(c.Args[0]))
	case callText:
		ok = isNumber(c.Args[0])
	case callList:
		ok = isNumber(c.Args[1]) && isNumber(c.Args[2])
	}
	if !ok {
		return errCall
	}
	return nil
}

// maxOverrideBytes bounds the form of an override: the longest path, with all its other
// fields.
const maxOverrideBytes = rules.MaxEntries*(rules.MaxKeyBytes+rules.MaxValueBytes+8) + 8<<10

func numberArg(n uint64) []byte { return binary.AppendUvarint(nil, n) }

// isNumber reports whether an argument is a number, at most the largest Instant.
func isNumber(arg []byte) bool {
	n, size := binary.Uvarint(arg)
	return size == len(arg) && size > 0 && n < 1<<63
}

// number returns the number of an argument. Requires: isNumber.
func number(arg []byte) uint64 {
	n, _ := binary.Uvarint(arg)
	return n
}

func set(c *engine.Call, command uint16, args ...[]byte) {
	c.Command, c.ReadOnly = command, readOnly(command)
	c.Args = append(c.Args[:0], args...)
}

// A Prepared is a text of rules that was compiled. It is immutable.
type Prepared struct {
	Text []byte
	SHA  [sha256.Size]byte // of Text
	Set  *rules.Set
}

// SetLoad makes a call a load of a text, in place of version base. The answer is for
// ReadLoad.
func SetLoad(c *engine.Call, base uint64, p *Prepared, user, note string) {
	args := [][]byte{numberArg(base), numberArg(uint64(p.Set.NumRules())), p.SHA[:], []byte(user), []byte(note)}
	set(c, callLoad, slices.AppendSeq(args, slices.Chunk(p.Text, engine.MaxDocumentBytes))...)
}

// SetOverride makes a call the setting of an override, which ends after a time to live in
// milliseconds, 0 for never. It answers OK or an error. Requires: v is from
// rules.NewOverride and has no Until.
func SetOverride(c *engine.Call, v *rules.Override, ttlMillis int64, user string) {
	set(c, callSet, []byte(overrideName(v)), numberArg(uint64(ttlMillis)), appendOverride(nil, v, user))
}

// SetDropOverride makes a call the removal of the override with v's domain, path and rule. It
// answers 1 if there was one, otherwise 0.
func SetDropOverride(c *engine.Call, v *rules.Override) {
	set(c, callDrop, []byte(overrideName(v)))
}

// SetVersion makes a call that answers the version, the SHA-256, the time of the load in
// milliseconds since 1970, the numbers of rules and of overrides.
func SetVersion(c *engine.Call) { set(c, callVersion) }

// SetText makes a call that answers the text of a version, 0 for the one in use, or an error.
func SetText(c *engine.Call, version uint64) { set(c, callText, numberArg(version)) }

// SetHistory makes a call that answers a row for each version that is known, the newest
// first: the version, the SHA-256, the time of its load in milliseconds since 1970, the user and the
// note.
func SetHistory(c *engine.Call) { set(c, callHistory) }

// SetGetOverride makes a call that answers the row of the override with v's domain, path and
// rule, or nil.
func SetGetOverride(c *engine.Call, v *rules.Override) {
	set(c, callGet, []byte(overrideName(v)))
}

// SetListOverrides makes a call that answers the rows of some overrides of a domain, as an
// array of the next cursor, 0 at the end, and the rows. Requires: cursor is 0 or from an
// answer, count is at least 1.
func SetListOverrides(c *engine.Call, domain []byte, cursor, count uint64) {
	set(c, callList, domain, numberArg(cursor), numberArg(count))
}
