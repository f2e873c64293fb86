package source

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

var caseOverrideWords = []string{"domain", "path", "effect", "limit", "rule", "ttl"}

// caseOverride reads the override of a step.
func (r *reader) caseOverride(n *yaml.Node) *CaseOverride {
	fields, mark, ok := r.words(n, "override")
	defer r.release(mark)
	if !ok {
		return nil
	}
	v := &CaseOverride{}
	for _, f := range fields {
		switch f.word {
		case "domain":
			v.Domain, _ = r.label(f.value, "domain")
		case "path":
			v.Path = r.casePath(f.value)
		case "effect":
			if v.Effect = f.value.Value; f.value.Kind != yaml.ScalarNode || !slices.Contains(EffectWords, v.Effect) {
				r.bad(f.value, "effect", anyOf(EffectWords))
			}
		case "limit":
			v.Limit, _ = r.text(f.value, "limit")
		case "rule":
			v.Rule, _ = r.text(f.value, "rule")
		case "ttl":
			nanos, _ := r.duration(f.value, "ttl")
			v.TTL = time.Duration(nanos)
		default:
			r.unknown(f, "override", caseOverrideWords)
		}
	}
	if v.Effect == "" && v.Limit != "" {
		v.Effect = "limit"
	}
	switch {
	case v.Domain == "" || v.Effect == "":
		r.mistake(n,
			"override must have domain, and effect or limit, as in {domain: api, path: {ip: 203.0.113.7}, effect: deny}")
	case (v.Effect == "limit") != (v.Limit != ""):
		r.mistake(n, "override must have a limit exactly for the effect limit, got effect "+v.Effect)
	}
	return v
}

// casePath reads the attributes of an override.
func (r *reader) casePath(n *yaml.Node) (path []Attribute) {
	fields, mark, _ := r.words(n, "path")
	defer r.release(mark)
	for _, f := range fields {
		path = r.attribute(path, f)
	}
	return path
}
