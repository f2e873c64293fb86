package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The words of a document.
var documentWords = []string{"domain", "descriptors", "rules", "lists", "deny", "allow", "unmatched", "no_quorum",
	"request_limits", "http", "addresses", "paths", "merge_domains"}

// longLists are the words of a document with the lists that may be long.
var longLists = []string{"descriptors", "rules"}

// mergedWords are the words of a document that are not settings of its domain.
var mergedWords = []string{"domain", "descriptors", "rules", "merge_domains"}

// NoQuorumWords are the values of no_quorum, in the order of engine.NoQuorum.
var NoQuorumWords = []string{"error", "allow", "deny", "local"}

// document reads a document.
func (r *reader) document(n *yaml.Node) (d Document, ok bool) {
	n = r.follow(n)
	if n == nil {
		return d, false
	}
	fields, mark, ok := r.words(n, inDocument)
	defer r.release(mark)
	if !ok {
		return d, false
	}
	before := len(r.mistakes)
	d.At = r.at(n)
	if r.domains++; r.domains > MaxDomains {
		r.mistake(n, fmt.Sprintf("at most %d domains are allowed, this is one more", MaxDomains))
		return d, false
	}
	for _, f := range fields {
		r.documentWord(&d, f)
		if !slices.Contains(mergedWords, f.word) {
			d.Settings = append(d.Settings, Name{r.at(f.key), f.word})
		}
	}
	alone := d.MergeDomains && len(fields) == 1
	if d.Domain == "" && !alone && len(r.mistakes) == before {
		r.mistakeAt(d.Line, "a document must have the word domain, of 1 to "+strconv.Itoa(MaxNameBytes)+" bytes, got none")
	}
	if len(r.own) > 0 {
		r.warn(n, "envoyproxy/ratelimit does not load this document because of its words "+strings.Join(r.own, ", "))
	}
	d.Warnings = r.warnings
	return d, len(r.mistakes) == before && !r.stopped
}

// documentWord reads a word of a document.
func (r *reader) documentWord(d *Document, f field) {
	switch f.word {
	case "domain":
		d.Domain, _ = r.label(f.value, "domain")
		d.At = r.at(f.key)
	case "descriptors":
		d.Descriptors = r.descriptors(f.value, 1)
	case "rules":
		d.Rules = r.ruleList(f.value)
	case "lists":
		d.Lists = r.lists(f.value)
	case "deny":
		d.Deny = r.labels(f.value, "deny")
	case "allow":
		d.Allow = r.labels(f.value, "allow")
	case "unmatched":
		d.DenyUnmatched = r.oneOf(f.value, "unmatched", []string{"allow", "deny"}) == "deny"
	case "no_quorum":
		d.NoQuorum = r.oneOf(f.value, "no_quorum", NoQuorumWords)
	case "request_limits":
		d.IgnoreRequestLimits = !r.boolean(f.value, "request_limits")
	case "http":
		d.HTTP = r.http(f.value)
	case "addresses":
		d.Addresses, d.OwnAddresses = r.labels(f.value, f.word), true
		r.atMost(f.value, f.word, len(d.Addresses), MaxAttributes)
	case "paths":
		d.Paths = r.paths(f.value)
	case "merge_domains":
		d.MergeDomains = r.boolean(f.value, "merge_domains")
	default:
		r.unknown(f, inDocument, documentWords)
	}
}
