package events

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash/maphash"
	"time"
	"unicode/utf8"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/engine"
)

// maxValueBytes bounds the value of an attribute in an event; the rest of a longer value is left out.
const maxValueBytes = 256

// idBytes is the length of the names of marks, and of ids, which have two digits for each byte.
const idBytes = 16

// leastTold is the shortest time until an event may be told again.
const leastTold = time.Second

// A body is an event as receivers get it.
type body struct {
	ID         string            `json:"id"` // of no other event
	Kind       string            `json:"kind"`
	At         string            `json:"at"`
	Domain     string            `json:"domain"`
	Rule       string            `json:"rule"`
	Limit      string            `json:"limit,omitempty"`
	Tier       string            `json:"tier,omitempty"`
	Attributes map[string]string `json:"attributes"`
	Quota      int64             `json:"quota,omitempty"`
	Used       int64             `json:"used,omitempty"`
	Remaining  *int64            `json:"remaining,omitempty"`
	WindowMS   int64             `json:"window_ms,omitempty"`
	Level      int64             `json:"level,omitempty"`
	ResetsAt   string            `json:"resets_at"`
}

// A noted is an event on its way to the list.
type noted struct {
	hash uint64 // in the toldTable
	kind checks.EventKind
	mark []byte // the name of its mark
	// until is the end of its mark: when the limit is fully reset, or the box opens.
	until engine.Instant
	text  []byte
}

// hashSeed is the seed of the hashes in the toldTable.
var hashSeed = maphash.MakeSeed()

// hashOf returns the hash of the identity of an event: of its kind, its key and its quota. A limit
// that was raised has events of its own.
func hashOf(e *checks.Event) uint64 {
	var quota [8]byte
	binary.LittleEndian.PutUint64(quota[:], uint64(e.Row.Limit))
	var h maphash.Hash
	h.SetSeed(hashSeed)
	h.WriteByte(byte(e.Kind))
	h.Write(quota[:])
	h.Write(e.Key)
	return h.Sum64()
}

// untilOf returns the instant from which on an event of now may be told again.
func untilOf(e *checks.Event, now engine.Instant) engine.Instant {
	return max(now+engine.Instant(leastTold), resetOf(e, now))
}

// resetOf returns the instant when the limit is fully reset, or the box opens. The decision was made
// some milliseconds before now, or in a cluster by another clock. The windows of FIXED end at whole
// seconds, so that their end is exact.
func resetOf(e *checks.Event, now engine.Instant) engine.Instant {
	at := now + engine.Instant(min(e.ResetMillis, mostMillis))*engine.Instant(time.Millisecond)
	if l := e.Limit; l != nil && l.Params.Alg == engine.Fixed && l.Params.Period%int64(time.Second) == 0 {
		at = (at + engine.Instant(time.Second)/2) / engine.Instant(time.Second) * engine.Instant(time.Second)
	}
	return at
}

// mostMillis bounds the time until a limit is reset: twenty years.
const mostMillis = int64(20 * 366 * 24 * time.Hour / time.Millisecond)

// note makes the event of a request at an instant.
func note(e *checks.Event, hash uint64, q *rules.Request, now engine.Instant) noted {
	identity := sha256.New()
	identity.Write(binary.AppendVarint([]byte{byte(e.Kind)}, e.Row.Limit))
	identity.Write(e.Key)
	n := noted{hash: hash, kind: e.Kind, until: untilOf(e, now)}
	n.mark = identity.Sum(nil)[:idBytes]
	identity.Write(binary.AppendVarint(nil, int64(now)))
	b := body{
		ID: hex.EncodeToString(identity.Sum(nil)[:idBytes]), Kind: e.Kind.String(), At: timeText(now),
		Domain: e.Rule.Domain.Name, Rule: e.Rule.Name, Attributes: make(map[string]string), Level: e.Level,
		ResetsAt: timeText(resetOf(e, now)),
	}
	for _, a := range e.Rule.Attributes(q, e.Descriptor) {
		if _, twice := b.Attributes[a.Key]; !twice {
			b.Attributes[a.Key] = cut(a.Value)
		}
	}
	if l := e.Limit; l != nil {
		b.Limit, b.Tier, b.Quota, b.Used = e.Name, l.Tier, l.Quota, l.Quota-e.Remaining
		b.Remaining, b.WindowMS = &e.Remaining, l.Policy().WindowMillis
	}
	n.text, _ = json.Marshal(&b) // texts and numbers have no error
	return n
}

// timeText returns an instant as RFC 3339 has it, in milliseconds.
func timeText(at engine.Instant) string {
	return time.Unix(0, int64(at)).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// cut returns at most maxValueBytes of a value, and no part of a character.
func cut(value string) string {
	if len(value) <= maxValueBytes {
		return value
	}
	end := maxValueBytes
	for end > 0 && !utf8.RuneStart(value[end]) {
		end--
	}
	return value[:end]
}

// idStart is the start of every event, before its id.
const idStart = `{"id":"`

// idOf returns the id of an event of the list, with the words before it. An event of another form,
// which a client has put there, is returned whole.
func idOf(event []byte) []byte {
	if end := len(idStart) + 2*idBytes; len(event) > end && string(event[:len(idStart)]) == idStart {
		return event[:end]
	}
	return event
}
