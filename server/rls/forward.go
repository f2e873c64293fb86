package rls

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"limitsrv/checks"
	"limitsrv/rules"
	"limitsrv/rules/source"
)

// pathKey is the key of the attribute that is the path of a URI.
const pathKey = "path"

// forward serves /v1/forward/DOMAIN: a proxy asks about a request that it describes in
// headers, of which the domain's word http makes attributes. An attribute without its
// header is left out.
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
		replyText(w, http.StatusBadRequest, "deny must be 403 or 429")
		return
	}
	name := r.PathValue("domain")
	d := s.cfg.Decider.Domain(name)
	if d == nil || len(d.HTTP) == 0 {
		replyText(w, http.StatusNotFound, "the rules have no domain of that name with the word http")
		return
	}
	q := &checks.Request{Request: rules.Request{Domain: []byte(name)}, Hits: 1}
	var entries []rules.Entry
	for i := range d.HTTP {
		if value := attribute(r.Header, &d.HTTP[i]); value != "" {
			entries = append(entries, rules.Entry{Key: []byte(d.HTTP[i].Key), Value: []byte(value)})
		}
	}
	if len(entries) == 0 {
		replyText(w, http.StatusBadRequest, "the request has none of the headers that the word http of the domain names")
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

// attribute returns the value of an attribute, cut to the bytes that a request may have; "":
// it has none.
func attribute(h http.Header, from *source.HeaderAttribute) string {
	value := strings.Join(h.Values(from.Header), ",")
	if from.Index != 0 {
		parts := strings.Split(value, ",")
		at := len(parts) + from.Index
		if at < 0 {
			return ""
		}
		value = parts[at]
	}
	value = strings.TrimSpace(value)
	if from.Key == pathKey {
		value = pathOf(value)
	}
	return value[:min(len(value), rules.MaxValueBytes)]
}

// pathOf returns the path of a URI, as servers see it: without query, escapes, empty
// segments and dots, so that there is one way only to write it.
func pathOf(uri string) string {
	if uri == "" {
		return ""
	}
	if i := strings.Index(uri, "://"); i >= 0 && !strings.ContainsAny(uri[:i], "/?") {
		uri = uri[i+3:]
		at := strings.IndexAny(uri, "/?#")
		if at < 0 {
			return "/"
		}
		uri = uri[at:]
	}
	if at := strings.IndexAny(uri, "?#"); at >= 0 {
		uri = uri[:at]
	}
	if plain, err := url.PathUnescape(uri); err == nil {
		uri = plain
	}
	clean := path.Clean("/" + uri)
	if strings.HasSuffix(uri, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}
