package stored

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// Calls are the calls of this package, see spec.Family.
type Calls struct{}

// Check returns an error if a call has arguments that no function of this package makes. It sets
// ReadOnly.
func (Calls) Check(c *engine.Call) error {
	if c.Command >= callsEnd {
		return fmt.Errorf("unknown command %d", c.Command)
	}
	k := &kinds[c.Command-firstCall]
	if n := len(c.Args); n < k.least || n > k.most {
		return fmt.Errorf("call %d of rules with %d arguments", c.Command-firstCall, n)
	}
	c.ReadOnly = readOnly(c.Command)
	if !k.valid(c.Args) {
		return errCall
	}
	return nil
}

// Keys returns no key. A call that changes documents enters all shards.
func (Calls) Keys(c *engine.Call, dst []int) (keys []int, all bool) { return dst, !readOnly(c.Command) }

// Describe returns the name of a call.
func (Calls) Describe(c *engine.Call) (name string, script []byte) { return CallName(c.Command), nil }

// Do carries out a call.
func (Calls) Do(tx *engine.Tx, c *engine.Call) {
	c.Answer = kinds[c.Command-firstCall].do(tx, c.Args, c.Answer)
}

// The outcomes of a load.
const (
	loaded    = iota
	unchanged // it has the text of the rules in use
	outdated  // the rules in use have another version than its base
)

// doLoad answers the outcome, the versions of the rules and of the documents.
func doLoad(tx *engine.Tx, args [][]byte, dst []byte) []byte {
	old, err := header(tx)
	if err != nil {
		return answer.AppendError(dst, "ERR the rules in use: "+err.Error())
	}
	parts := args[loadArgs:]
	next := Header{Version: old.Version + 1, Loaded: tx.Now(), SHA: [32]byte(args[2]), Parts: len(parts),
		Rules: int(number(args[1])), User: string(args[3]), Note: string(args[4])}
	for _, part := range parts {
		next.Bytes += len(part)
	}
	switch {
	case next.Bytes > MaxBytes:
		return answer.AppendError(dst,
			fmt.Sprintf("ERR rules: at most %d bytes of text are allowed, got %d", MaxBytes, next.Bytes))
	case number(args[0]) != old.Version:
		return appendLoaded(dst, outdated, old.Version, tx)
	case old.Version > 0 && next.SHA == old.SHA:
		return appendLoaded(dst, unchanged, old.Version, tx)
	}
	forgetPast(tx, &old)
	for i, part := range parts {
		mustSet(tx, textName(next.Version, i), string(part))
	}
	if old.Version > 0 {
		mustSet(tx, pastName(old.Version), string(old.appendTo(nil)))
	}
	mustSet(tx, headerName, string(next.appendTo(nil)))
	return appendLoaded(dst, loaded, next.Version, tx)
}

func appendLoaded(dst []byte, outcome int64, version uint64, tx *engine.Tx) []byte {
	dst = answer.AppendInt(answer.AppendArray(dst, 3), outcome)
	return answer.AppendInt(answer.AppendInt(dst, int64(version)), int64(tx.DocumentsVersion(engine.Rules)))
}

// mustSet sets a document that is within the bounds of the space, because the bounds of
// this package are lower together.
func mustSet(tx *engine.Tx, name, text string) {
	if err := tx.SetDocument(engine.Rules, name, text); err != nil {
		panic("stored: " + err.Error())
	}
}

// forgetPast drops the overrides that have expired, and the texts beyond the bounds of past versions
// when the rules in use become one of them.
func forgetPast(tx *engine.Tx, old *Header) {
	ds := tx.Documents(engine.Rules)
	past := withPrefix(ds, pastPrefix)
	rows, bytes := old.Version, 0 // the lowest versions that are kept
	texts := rows
	for i := len(past); i >= 0; i-- {
		h := *old
		if i < len(past) {
			h, _ = readHeader(past[i].Text)
		}
		if bytes += h.Bytes; bytes <= MaxPastBytes && len(past)-i < MaxPast {
			texts = h.Version
		}
		if len(past)-i < MaxPast {
			rows = h.Version
		}
	}
	noteForgotten(tx, past[:search(past, pastName(rows))])
	now := tx.Now()
	drop := func(d *engine.Document) bool {
		switch {
		case strings.HasPrefix(d.Name, pastPrefix):
			return d.Name < pastName(rows)
		case strings.HasPrefix(d.Name, textPrefix):
			return d.Name < textName(texts, 0)
		}
		return isOverrideName(d.Name) && hasExpired(d, now)
	}
	if slices.ContainsFunc(ds, drop) {
		tx.DropDocumentsFunc(engine.Rules, drop)
	}
}

// noteForgotten notes the texts of Headers that are to be dropped.
func noteForgotten(tx *engine.Tx, past []*engine.Document) {
	if len(past) == 0 {
		return
	}
	var text string
	if d := tx.Document(engine.Rules, forgottenName); d != nil {
		text = d.Text
	}
	for _, d := range past {
		h, _ := readHeader(d.Text)
		text += string(h.SHA[:forgottenBytes])
	}
	mustSet(tx, forgottenName, text[max(0, len(text)-MaxForgotten*forgottenBytes):])
}

func doSet(tx *engine.Tx, args [][]byte, dst []byte) []byte {
	name, end := string(args[0]), uint64(0)
	if ttl := number(args[1]); ttl > 0 {
		end = uint64(tx.Now()) + ttl*uint64(time.Millisecond)
	}
	text := string(append(binary.LittleEndian.AppendUint64(nil, end), args[2]...))
	if wrong := makeRoom(tx, name, len(text)); wrong != "" {
		return answer.AppendError(dst, wrong)
	}
	mustSet(tx, name, text)
	return append(dst, answer.OK...)
}

// makeRoom drops the overrides that have expired if there is no room for an override with a
// name and so many bytes. It returns an error if there is still no room then.
func makeRoom(tx *engine.Tx, name string, more int) (wrong string) {
	n, bytes := room(tx, name, more)
	if n > MaxOverrides || bytes > MaxOverridesBytes {
		now := tx.Now()
		expired := func(d *engine.Document) bool { return isOverrideName(d.Name) && hasExpired(d, now) }
		if slices.ContainsFunc(tx.Documents(engine.Rules), expired) {
			tx.DropDocumentsFunc(engine.Rules, expired)
			n, bytes = room(tx, name, more)
		}
	}
	switch {
	case n > MaxOverrides:
		return fmt.Sprintf("ERR at most %d overrides are allowed, and so many are there", MaxOverrides)
	case bytes > MaxOverridesBytes:
		return fmt.Sprintf("ERR at most %d bytes of overrides are allowed, got %d with this one", MaxOverridesBytes, bytes)
	}
	return ""
}

// room returns the number of overrides, and of their bytes, with an override of a name and
// so many bytes in addition. Cost: linear in the other documents, which are some hundreds.
func room(tx *engine.Tx, name string, more int) (n, bytes int) {
	all := tx.Documents(engine.Rules)
	n, bytes = len(withPrefix(all, overridePrefix))+1, tx.DocumentsBytes(engine.Rules)+len(name)+more
	first := search(all, overridePrefix)
	for _, others := range [][]*engine.Document{all[:first], all[first+n-1:]} {
		for _, d := range others {
			bytes -= len(d.Name) + len(d.Text)
		}
	}
	if d := tx.Document(engine.Rules, name); d != nil {
		n, bytes = n-1, bytes-len(d.Name)-len(d.Text)
	}
	return n, bytes
}

func doDrop(tx *engine.Tx, args [][]byte, dst []byte) []byte {
	d := tx.Document(engine.Rules, string(args[0]))
	live := d != nil && !hasExpired(d, tx.Now())
	if d != nil {
		tx.DropDocument(engine.Rules, d.Name)
	}
	if live {
		return answer.AppendInt(dst, 1)
	}
	return answer.AppendInt(dst, 0)
}

func doVersion(tx *engine.Tx, _ [][]byte, dst []byte) []byte {
	h, err := header(tx)
	if err != nil {
		return answer.AppendError(dst, "ERR the rules in use: "+err.Error())
	}
	n := int64(0)
	for _, d := range withPrefix(tx.Documents(engine.Rules), overridePrefix) {
		if !hasExpired(d, tx.Now()) {
			n++
		}
	}
	dst = appendVersion(answer.AppendArray(dst, 5), &h)
	return answer.AppendInt(answer.AppendInt(dst, int64(h.Rules)), n)
}

// appendVersion appends the version, the SHA-256, and the time of the load. Without rules
// they are 0, empty and 0.
func appendVersion(dst []byte, h *Header) []byte {
	dst = answer.AppendInt(dst, int64(h.Version))
	sha := []byte{}
	if h.Version > 0 {
		sha = hex.AppendEncode(sha, h.SHA[:])
	}
	return answer.AppendInt(answer.AppendBulk(dst, sha), h.Loaded.Millis())
}

// doText answers the text of a version.
func doText(tx *engine.Tx, args [][]byte, dst []byte) []byte {
	h, err := header(tx)
	wanted := number(args[0])
	if d := tx.Document(engine.Rules, pastName(wanted)); d != nil && wanted != 0 {
		h, err = readHeader(d.Text)
	}
	switch {
	case err != nil:
		return answer.AppendError(dst, "ERR the rules: "+err.Error())
	case h.Version == 0 && wanted == 0:
		return answer.AppendNil(dst)
	case wanted == 0 || wanted == h.Version:
		if text, ok := textOf(tx, &h); ok {
			return answer.AppendBulk(dst, []byte(text))
		}
	}
	return answer.AppendError(dst, fmt.Sprintf("ERR there is no text of version %d: RL.RULES HISTORY lists the "+
		"versions, and texts of the newest are kept", wanted))
}

func doHistory(tx *engine.Tx, _ [][]byte, dst []byte) []byte {
	var all []Header
	if h, err := header(tx); err == nil && h.Version > 0 {
		all = append(all, h)
	}
	past := withPrefix(tx.Documents(engine.Rules), pastPrefix)
	for _, d := range slices.Backward(past) {
		if h, err := readHeader(d.Text); err == nil {
			all = append(all, h)
		}
	}
	dst = answer.AppendArray(dst, len(all))
	for i := range all {
		dst = appendVersion(answer.AppendArray(dst, 5), &all[i])
		dst = answer.AppendBulk(answer.AppendBulk(dst, []byte(all[i].User)), []byte(all[i].Note))
	}
	return dst
}
