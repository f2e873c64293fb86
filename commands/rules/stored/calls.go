package stored

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
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
	callText                                  // version, 0 for the version in use
	callHistory                               // -
	callGet                                   // name
	callList                                  // domain, cursor, count
	callsEnd
)

// loadArgs is the number of arguments of a load before the parts of the text.
const loadArgs = 5

// readOnly reports whether a call changes nothing.
func readOnly(command uint16) bool { return command >= callVersion }

// A kind is the meaning of a call.
type kind struct {
	name        string
	least, most int                      // bounds of the number of arguments
	valid       func(args [][]byte) bool // requires a valid number of arguments
	do          func(tx *engine.Tx, args [][]byte, dst []byte) []byte
}

var kinds = [callsEnd - firstCall]kind{
	callLoad - firstCall:    {"RL.RULES LOAD", loadArgs, loadArgs + maxParts, isLoad, doLoad},
	callSet - firstCall:     {"RL.OVERRIDE SET", 3, 3, isSet, doSet},
	callDrop - firstCall:    {"RL.OVERRIDE DEL", 1, 1, namesOverride, doDrop},
	callVersion - firstCall: {"RL.RULES VERSION", 0, 0, isAny, doVersion},
	callText - firstCall:    {"RL.RULES GET", 1, 1, func(args [][]byte) bool { return isNumber(args[0]) }, doText},
	callHistory - firstCall: {"RL.RULES HISTORY", 0, 0, isAny, doHistory},
	callGet - firstCall:     {"RL.OVERRIDE GET", 1, 1, namesOverride, doGet},
	callList - firstCall: {"RL.OVERRIDE LIST", 3, 3,
		func(args [][]byte) bool { return isNumber(args[1]) && isNumber(args[2]) }, doList},
}

// CallName returns the name of a call of this package, for messages, or "" if the number is not in
// use.
func CallName(number uint16) string {
	if number < firstCall || number >= callsEnd {
		return ""
	}
	return kinds[number-firstCall].name
}

var errCall = errors.New("a call of rules that can not be")

func isAny([][]byte) bool { return true }

func isLoad(args [][]byte) bool {
	return isNumber(args[0]) && isNumber(args[1]) && len(args[2]) == len(Header{}.SHA) &&
		len(args[3]) <= MaxUserBytes && len(args[4]) <= MaxNoteBytes &&
		!slices.ContainsFunc(args[loadArgs:], func(part []byte) bool { return len(part) > engine.MaxDocumentBytes })
}

func isSet(args [][]byte) bool {
	_, _, err := readOverride(string(args[2]))
	return namesOverride(args) && isNumber(args[1]) && err == nil && len(args[2]) <= maxOverrideBytes
}

func namesOverride(args [][]byte) bool { return isOverrideName(string(args[0])) }

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
// answers 1 if there was an override, otherwise 0.
func SetDropOverride(c *engine.Call, v *rules.Override) {
	set(c, callDrop, []byte(overrideName(v)))
}

// SetVersion makes a call that answers the version, the SHA-256, the time of the load in
// milliseconds since 1970, the numbers of rules and of overrides.
func SetVersion(c *engine.Call) { set(c, callVersion) }

// SetText makes a call that answers the text of a version, 0 for the version in use, or an
// error.
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
