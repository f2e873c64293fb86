package rls

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/source"
)

// pathKey is the key of the attribute that is the path of a URI.
const pathKey = "path"

// forward serves /v1/forward/DOMAIN: a proxy asks about a request that it describes in
// headers, of which the domain's word http makes attributes.
//
// Where no login is required, the header Authorization is from the proxy's client.
func (s *core) forward(w http.ResponseWriter, r *http.Request) {
	if !s.access.Needed() {
		r.Header.Del("Authorization")
	}
	account, ok := s.identify(w, r)
	if !ok {
		return
	}
	denied, ok := deniedStatus(r)
	if !ok {
		s.refuse(w, failure{status: http.StatusBadRequest,
			text: fmt.Sprintf("deny must be 403 or 429, got %.32q", r.URL.Query().Get("deny"))})
		return
	}
	name := r.PathValue("domain")
	d := s.cfg.Decider.Domain(name)
	if d == nil || len(d.HTTP) == 0 {
		text := fmt.Sprintf("the rules have no domain %.32q", name)
		if d != nil {
			text = fmt.Sprintf("the domain %.32q of the rules must have the word http, which names the headers of attributes, "+
				"such as http: {ip: X-Real-IP}, got none", name)
		}
		s.refuse(w, failure{status: http.StatusNotFound, text: text})
		return
	}
	q := &checks.Request{Request: rules.Request{Domain: []byte(name)}, Hits: 1}
	var entries []rules.Entry
	for i := range d.HTTP {
		if value, ok := attribute(r.Header, d, &d.HTTP[i]); ok {
			entries = append(entries, rules.Entry{Key: []byte(d.HTTP[i].Key), Value: []byte(value)})
		}
	}
	if !describes(r.Header, d) || len(entries) == 0 {
		s.refuse(w, failure{status: http.StatusBadRequest,
			text: "the request has none of the headers that the word http of the domain names"})
		return
	}
	q.Descriptors = []rules.Descriptor{{Entries: entries}}
	s.reply(w, r, account, q, denied, false)
}

// deniedStatus returns the status of a denial, which nginx can take only as 403.
func deniedStatus(r *http.Request) (status int, ok bool) {
	switch r.URL.Query().Get("deny") {
	case "", "429":
		return http.StatusTooManyRequests, true
	case "403":
		return http.StatusForbidden, true
	}
	return 0, false
}

// describes reports whether a request has one of the headers that the domain names.
func describes(h http.Header, d *rules.Domain) bool {
	return slices.ContainsFunc(d.HTTP, func(from source.HeaderAttribute) bool { return len(h.Values(from.Header)) > 0 })
}

// attribute returns the value of an attribute, truncated to rules.MaxValueBytes. ok is false if the
// request does not have the header, or has an empty header. Exception: an empty address, or an
// empty part of a list, counts as present, so that its rules apply.
func attribute(h http.Header, d *rules.Domain, from *source.HeaderAttribute) (value string, ok bool) {
	value = strings.Join(h.Values(from.Header), ",")
	if from.Index != 0 {
		value = part(value, -from.Index)
	}
	value = strings.TrimSpace(value)
	isAddress := d.IsAddress(from.Key)
	if isAddress && strings.EqualFold(from.Header, "Forwarded") {
		value = forwardedFor(value)
	}
	if from.Key == pathKey && value != "" {
		value = d.URIPath(from.Key, value)
	}
	return rules.Cut(value, rules.MaxValueBytes), value != "" || isAddress || from.Index != 0
}

// part returns the fromEnd-th part of a list, counted from its end and from 1. If the list has
// fewer parts, it returns the first. Empty parts don't count. Commas in quotation marks separate
// parts too. Otherwise a client could send one quotation mark and hide the part that the proxy
// adds.
func part(list string, fromEnd int) string {
	last := ""
	for list != "" && fromEnd > 0 {
		at := strings.LastIndexByte(list, ',')
		if text := strings.TrimSpace(list[at+1:]); text != "" {
			last, fromEnd = text, fromEnd-1
		}
		list = list[:max(at, 0)]
	}
	return last
}

// forwardedFor returns the address in an element of the header Forwarded, see RFC 7239, section 4.
// If the element has no address, or an odd number of quotation marks, it returns the element
// itself.
func forwardedFor(element string) string {
	if strings.Count(element, `"`)%2 != 0 {
		return element
	}
	for rest := element; rest != ""; {
		end, quoted := 0, false
		for ; end < len(rest) && (quoted || rest[end] != ';'); end++ {
			quoted = quoted != (rest[end] == '"')
		}
		name, value, ok := strings.Cut(strings.TrimSpace(rest[:end]), "=")
		if ok && strings.EqualFold(name, "for") {
			return value
		}
		rest = strings.TrimPrefix(rest[end:], ";")
	}
	return element
}
