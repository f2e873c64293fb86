package rules

import (
	"fmt"
	"slices"
	"strings"

	"limitsrv/commands/rules/source"
)

// merged returns the documents, a document for each domain. If a document has merge_domains,
// the descriptors and rules of documents of the same domain are joined, in the order of the
// text, as envoyproxy/ratelimit joins descriptors under MERGE_DOMAIN_CONFIG. The settings of
// a domain stand in its first document.
func (c *compiler) merged(docs []source.Document) (all []source.Document) {
	merging := slices.ContainsFunc(docs, func(d source.Document) bool { return d.MergeDomains })
	first := make(map[string]int, len(docs)) // index in all
	for i := range docs {
		doc := &docs[i]
		c.set.warnings = append(c.set.warnings, doc.Warnings...)
		at, twice := first[doc.Domain]
		switch {
		case doc.Domain == "": // only merge_domains
		case !twice:
			first[doc.Domain] = len(all)
			all = append(all, *doc)
		case !merging:
			c.mistake(doc.At, fmt.Sprintf("each domain may have one document, %q already has %v; merge_domains: true in any "+
				"document joins them", doc.Domain, all[at].At))
		default:
			c.join(&all[at], doc)
		}
	}
	return all
}

// join adds a further document of a domain to its first.
func (c *compiler) join(to, doc *source.Document) {
	for _, word := range doc.Settings {
		c.mistake(word.At, fmt.Sprintf("the settings of a domain must stand in its first document, %v, got %s in another",
			to.At, word.Text))
	}
	to.Descriptors = slices.Concat(to.Descriptors, doc.Descriptors)
	to.Rules = slices.Concat(to.Rules, doc.Rules)
	wildcards := 0
	for i := range to.Descriptors {
		d := &to.Descriptors[i]
		if !strings.Contains(d.Key, "*") && !strings.Contains(d.Value, "*") {
			continue
		}
		if wildcards++; wildcards == source.MaxWildcards+1 {
			c.mistake(d.At, fmt.Sprintf("a level of descriptors may have %d values with *, this is one more",
				source.MaxWildcards))
		}
	}
}
