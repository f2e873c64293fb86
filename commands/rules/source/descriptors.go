package source

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"limitsrv/engine"
	"limitsrv/internal/yamlfile"
)

var (
	descriptorWords = []string{
		"key", "value", "rate_limit", "descriptors", "shadow_mode", "quota_mode", "detailed_metric", "value_to_metric",
		"share_threshold", "metadata",
		"rate_limits", "penalty",
	}
	rateLimitWords = []string{"unit", "requests_per_unit", "unlimited", "name", "replaces", "algorithm", "burst", "grace",
		"warn_at", "events", "hits", "weights"}
)

// units are the windows of the tree. They are aligned to the epoch.
var units = []struct {
	name   string
	length time.Duration
}{
	{"second", time.Second},
	{"minute", time.Minute},
	{"hour", time.Hour},
	{"day", 24 * time.Hour},
	{"week", 7 * 24 * time.Hour},
	{"month", 30 * 24 * time.Hour},
	{"year", 365 * 24 * time.Hour},
}

// unitIndex returns the index of a unit, in any case, or -1.
func unitIndex(name string) int {
	for i := range units {
		if strings.EqualFold(units[i].name, name) {
			return i
		}
	}
	return -1
}

func unitNames() (names []string) {
	for _, u := range units {
		names = append(names, u.name)
	}
	return names
}

// descriptors reads the nodes of a level of the tree.
func (r *reader) descriptors(n *yaml.Node, level int) []Descriptor {
	number, items := r.each(n, "descriptors")
	if number == 0 {
		return nil
	}
	if level > MaxDepth {
		r.mistake(n, fmt.Sprintf("descriptors may be %d levels deep, this is level %d", MaxDepth, level))
		return nil
	}
	var (
		all       = make([]Descriptor, 0, number)
		wildcards = 0
	)
	for item := range items {
		r.pace.Step()
		if item = r.follow(item); item == nil || !r.oneMore(item) {
			return nil
		}
		d, ok := r.descriptor(item, level)
		if !ok {
			continue
		}
		if strings.Contains(d.Key, "*") || strings.Contains(d.Value, "*") {
			if wildcards++; wildcards == MaxWildcards+1 {
				r.mistakeAt(d.Line, fmt.Sprintf("a level of descriptors may have %d values with *, this is one more", MaxWildcards))
			}
		}
		all = append(all, d)
	}
	return all
}

func (r *reader) descriptor(n *yaml.Node, level int) (d Descriptor, ok bool) {
	fields, mark, ok := r.words(n, inDescriptor)
	defer r.release(mark)
	if !ok {
		return d, false
	}
	d.At = r.at(n)
	for _, f := range fields {
		r.noteOwn(f.word)
		switch f.word {
		case "key":
			d.Key, ok = r.label(f.value, "key")
			d.At = r.at(f.key)
		case "value":
			if !yamlfile.IsNull(f.value) {
				d.Value, _ = r.value(f.value, "value")
			}
		case "rate_limit":
			r.rateLimit(&d, f.value)
		case "rate_limits":
			r.rateLimits(&d, f.value)
		case "descriptors":
			d.Descriptors = r.descriptors(f.value, level+1)
		case "shadow_mode":
			d.Shadow = r.boolean(f.value, f.word)
		case "quota_mode":
			d.Quota = r.boolean(f.value, f.word)
		case "detailed_metric":
			d.DetailedMetric = r.boolean(f.value, f.word)
		case "value_to_metric":
			d.ValueToMetric = r.boolean(f.value, f.word)
		case "share_threshold":
			d.ShareThreshold = r.boolean(f.value, f.word)
		case "metadata":
			d.Metadata = r.metadata(f.value)
		case "penalty":
			d.Penalty = r.penalty(f.value)
		default:
			r.unknown(f, inDescriptor, descriptorWords)
		}
	}
	return d, r.checkDescriptor(n, &d, ok)
}

// checkDescriptor records the mistakes between the words of a descriptor; ok is false if its
// key is wrong already.
func (r *reader) checkDescriptor(n *yaml.Node, d *Descriptor, ok bool) bool {
	switch {
	case !ok:
		return false
	case d.Key == "":
		r.mistake(n, fmt.Sprintf("a descriptor must have a key of 1 to %d bytes, got none", MaxNameBytes))
		return false
	case d.ShareThreshold && !strings.Contains(d.Key, "*") && !strings.Contains(d.Value, "*"):
		r.mistakeAt(d.Line, fmt.Sprintf("share_threshold needs a value with *, got %q", d.Value))
	case d.Penalty != nil && len(d.Limits) == 0 && len(r.mistakes) == 0:
		r.mistakeAt(d.Penalty.Line, "penalty needs a rate_limit in the same descriptor, got none")
	}
	return true
}

// rateLimit reads rate_limit.
func (r *reader) rateLimit(d *Descriptor, n *yaml.Node) {
	if yamlfile.IsNull(n) || r.hasLimits(d, n) {
		return
	}
	if l, ok := r.treeLimit(n); ok {
		d.Limits = append(d.Limits, l)
	}
}

// hasLimits records a mistake if a descriptor has limits already.
func (r *reader) hasLimits(d *Descriptor, n *yaml.Node) bool {
	if len(d.Limits) > 0 {
		r.mistake(n, "a descriptor may have rate_limit or rate_limits, got both")
	}
	return len(d.Limits) > 0
}

// rateLimits reads rate_limits: several limits of a node.
func (r *reader) rateLimits(d *Descriptor, n *yaml.Node) {
	if r.hasLimits(d, n) {
		return
	}
	for _, item := range r.items(n, "rate_limits") {
		if item = r.follow(item); item == nil {
			return
		}
		l, ok := r.treeLimit(item)
		if !ok {
			continue
		}
		if l.Unlimited {
			r.mistake(item, "unlimited must be the only limit, in rate_limit, got it in rate_limits")
			continue
		}
		if len(d.Limits) == MaxLimits {
			r.mistake(item, fmt.Sprintf("a descriptor may have %d limits, this is one more", MaxLimits))
			return
		}
		d.Limits = append(d.Limits, l)
	}
}

// unit returns the nanoseconds of the unit of a limit of the tree, or 0 after a mistake.
func (r *reader) unit(limit, unit *yaml.Node) int64 {
	if unit == nil {
		r.mistake(limit, "rate_limit must have a unit, "+anyOf(unitNames())+", or unlimited: true, got none")
		return 0
	}
	i := unitIndex(unit.Value)
	if i < 0 {
		r.bad(unit, "unit", anyOf(unitNames()))
		return 0
	}
	return int64(units[i].length)
}

// treeLimit reads a limit of the tree.
func (r *reader) treeLimit(n *yaml.Node) (l Limit, ok bool) {
	fields, mark, ok := r.words(n, inRateLimit)
	defer r.release(mark)
	if !ok {
		return l, false
	}
	l.At = r.at(n)
	var (
		d    = draft{warnAt: DefaultWarnAt}
		unit *yaml.Node
	)
	for _, f := range fields {
		r.noteOwn(f.word)
		switch f.word {
		case "unit":
			unit = f.value
		case "requests_per_unit":
			d.count, ok = r.whole(f.value, f.word, 0, 1<<32-1)
		case "unlimited":
			l.Unlimited = r.boolean(f.value, f.word)
		case "name":
			d.name, _ = r.optional(f.value, f.word)
			if len(d.name) > MaxNameBytes {
				r.bad(f.value, f.word, fmt.Sprintf("at most %d bytes long", MaxNameBytes))
			}
		case "replaces":
			l.Replaces = r.replaced(f.value)
		default:
			if !r.limitWord(&d, f) {
				r.unknown(f, inRateLimit, rateLimitWords)
			}
		}
	}
	l.Name = d.name
	for _, name := range l.Replaces {
		if name.Text == l.Name {
			r.mistakeAt(name.Line, fmt.Sprintf("replaces must name other limits, got the limit's own name %q", l.Name))
		}
	}
	if l.Unlimited {
		if unit != nil && unitIndex(unit.Value) >= 0 {
			r.mistake(unit, "unlimited excludes a unit, got unit "+got(unit))
			return l, false
		}
		return l, true
	}
	if d.window = r.unit(n, unit); d.window == 0 || !ok {
		return l, false
	}
	if !d.algGiven {
		d.alg, d.algGiven = engine.Fixed, true
	}
	l.Count, l.Alg, l.Window, l.Burst, l.Grace, l.WarnAt, ok = d.count, d.alg, d.window, d.burst, d.grace, d.warnAt, true
	if err := d.check(&l); err != nil {
		r.mistake(n, err.Error())
		return l, false
	}
	return l, true
}

// replaced reads replaces of the tree: a list of mappings with a name.
func (r *reader) replaced(n *yaml.Node) (names []Name) {
	for _, item := range r.items(n, "replaces") {
		if item = r.follow(item); item == nil {
			return nil
		}
		fields, mark, ok := r.words(item, inReplaces)
		name := Name{At: r.at(item)}
		for _, f := range fields {
			if f.word == "name" {
				name.Text, _ = r.optional(f.value, "the name in replaces")
				continue
			}
			r.unknown(f, inReplaces, []string{"name"})
		}
		r.release(mark)
		switch {
		case !ok:
		case name.Text == "" || len(name.Text) > MaxNameBytes:
			r.mistake(item, fmt.Sprintf("an entry of replaces must have a name of 1 to %d bytes, got %q", MaxNameBytes,
				name.Text))
		case len(names) == MaxWords:
			r.mistake(item, fmt.Sprintf("replaces may have %d entries, got more", MaxWords))
			return names
		default:
			names = append(names, name)
		}
	}
	return names
}
