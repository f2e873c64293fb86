package stored

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"

	"limitsrv/commands/rules"
	"limitsrv/engine"
)

// An OverrideRow is an override as it stands in the state.
type OverrideRow struct {
	rules.Override
	User string // sent the call that set it
	Set  engine.Instant
}

// domainBytes are the bytes of a hash of the domain in the name of an override's document.
const domainBytes = 8

// domainPrefix returns the start of the names of all overrides of a domain.
func domainPrefix(domain string) string {
	h := sha256.Sum256([]byte(domain))
	return overridePrefix + hex.EncodeToString(h[:domainBytes]) + "/"
}

// overrideName returns the name of the document of an override, by its domain, path and rule.
// The path of an override of a rule is in any order.
func overrideName(v *rules.Override) string {
	path := v.Path
	if v.Rule != "" {
		path = append([]rules.Attribute(nil), path...)
		sort.SliceStable(path, func(i, j int) bool { return path[i].Key < path[j].Key })
	}
	id := appendText(appendText(nil, v.Domain), v.Rule)
	for _, a := range path {
		id = appendText(appendText(id, a.Key), a.Value)
	}
	h := sha256.Sum256(id)
	return domainPrefix(v.Domain) + hex.EncodeToString(h[:])
}

// isOverrideName reports whether a document may have the name of an override.
func isOverrideName(name string) bool {
	rest, ok := strings.CutPrefix(name, overridePrefix)
	return ok && len(rest) == 2*domainBytes+1+2*sha256.Size
}

// overrideFormat is the version of the form of an override.
const overrideFormat = 1

// untilBytes is the length of Until at the start of an override's document.
const untilBytes = 8

// appendOverride appends the form of an override without Until: the format and the effect, a byte
// each; Domain, Rule, Limit, Note and the user; the attributes of the path.
func appendOverride(dst []byte, v *rules.Override, user string) []byte {
	dst = append(dst, overrideFormat, byte(v.Effect))
	for _, field := range []string{v.Domain, v.Rule, v.Limit, v.Note, user} {
		dst = appendText(dst, field)
	}
	for _, a := range v.Path {
		dst = appendText(appendText(dst, a.Key), a.Value)
	}
	return dst
}

var errOverride = errors.New("an override that can not be")

// readOverride reads the form of an override without Until.
func readOverride(text string) (v rules.Override, user string, err error) {
	r := fieldReader{left: text}
	head := r.bytes(2)
	if r.failed {
		return v, "", errOverride
	}
	if head[0] != overrideFormat {
		return v, "", errNewer
	}
	v.Effect = rules.Effect(head[1])
	v.Domain, v.Rule, v.Limit, v.Note = r.text(), r.text(), r.text(), r.text()
	user = r.text()
	for r.left != "" && !r.failed && len(v.Path) <= rules.MaxEntries {
		v.Path = append(v.Path, rules.Attribute{Key: r.text(), Value: r.text()})
	}
	if r.failed || r.left != "" || v.Effect < rules.Allow || v.Effect > rules.Replace {
		return rules.Override{}, "", errOverride
	}
	return v, user, nil
}

// rowOf reads the document of an override.
func rowOf(d *engine.Document) (row OverrideRow, err error) {
	if len(d.Text) < untilBytes {
		return row, errOverride
	}
	row.Override, row.User, err = readOverride(d.Text[untilBytes:])
	row.Until, row.Set = until(d), d.Set
	return row, err
}

// until returns the Until of an override, from its document.
func until(d *engine.Document) engine.Instant {
	return engine.Instant(binary.LittleEndian.Uint64([]byte(d.Text[:untilBytes])))
}

// hasExpired reports whether an override has no effect any more.
func hasExpired(d *engine.Document, now engine.Instant) bool {
	end := until(d)
	return end != 0 && end <= now
}

// ListOverrides yields the overrides that have not expired, in the order of their ends.
// Overrides without an end come last. Cost: O(n log n), and the reading of each row.
func (ds Documents) ListOverrides(now engine.Instant) iter.Seq[OverrideRow] {
	all := slices.Clone(withPrefix(ds, overridePrefix))
	slices.SortFunc(all, func(a, b *engine.Document) int {
		return cmp.Or(cmp.Compare(uint64(until(a))-1, uint64(until(b))-1), strings.Compare(a.Name, b.Name))
	})
	return func(yield func(OverrideRow) bool) {
		for _, d := range all {
			if row, err := rowOf(d); err == nil && !hasExpired(d, now) && !yield(row) {
				return
			}
		}
	}
}

// Overrides returns the compiled overrides of the documents, from the compiled overrides of older
// documents. Cost: a comparison for each document, and microseconds for each override that
// changed.
func (ds Documents) Overrides(o *rules.Overrides, old Documents) (*rules.Overrides, error) {
	older, newer := withPrefix(old, overridePrefix), withPrefix(ds, overridePrefix)
	var add []*rules.Override
	for len(older) > 0 || len(newer) > 0 {
		switch {
		case len(older) > 0 && len(newer) > 0 && older[0] == newer[0]:
			older, newer = older[1:], newer[1:]
		case len(newer) == 0 || len(older) > 0 && older[0].Name < newer[0].Name:
			if v, err := compiledOverride(older[0]); err == nil {
				o = o.Without(v)
			}
			older = older[1:]
		default:
			v, err := compiledOverride(newer[0])
			if err != nil {
				return nil, err
			}
			add = append(add, v)
			if len(older) > 0 && older[0].Name == newer[0].Name {
				older = older[1:]
			}
			newer = newer[1:]
		}
	}
	if len(add) == 0 {
		return o, nil
	}
	return o.WithAll(add), nil
}

// compiledOverride returns the compiled form of an override's document, which the document
// keeps. Concurrency: any number of goroutines may call it.
func compiledOverride(d *engine.Document) (*rules.Override, error) {
	if v, ok := d.Compiled.Load().(*rules.Override); ok {
		return v, nil
	}
	row, err := rowOf(d)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d.Name, err)
	}
	v, err := rules.NewOverride(row.Override)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", d.Name, err)
	}
	d.Compiled.Store(v)
	return v, nil
}
