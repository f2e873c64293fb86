package rules

import (
	"net/url"
	"path"
	"strings"

	"limitsrv/rules/source"
)

// appendPath appends a path in the form that flags select.
func appendPath(dst []byte, text string, f source.PathForm) []byte {
	if f&source.PathPlain != 0 {
		text = PlainPath(text)
	}
	if f&source.PathParams != 0 {
		text = withoutParams(text)
	}
	if f&source.PathSlash != 0 {
		for len(text) > 1 && text[len(text)-1] == '/' {
			text = text[:len(text)-1]
		}
	}
	from := len(dst)
	dst = append(dst, text...)
	if f&source.PathCase != 0 {
		for i, c := range dst[from:] {
			if c >= 'A' && c <= 'Z' {
				dst[from+i] = c | 0x20
			}
		}
	}
	return dst
}

// withoutParams removes the parameters of all segments: the part of a segment from ; on.
func withoutParams(text string) string {
	if !strings.Contains(text, ";") {
		return text
	}
	segments := strings.Split(text, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";")
	}
	return strings.Join(segments, "/")
}

// PlainPath returns the path of a URI, as servers see it: without query, escapes, empty
// segments and dots, so that there is one way only to write it.
func PlainPath(uri string) string {
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
