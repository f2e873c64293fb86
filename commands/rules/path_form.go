package rules

import (
	"net/url"
	"path"
	"strings"

	"limitsrv/commands/rules/source"
)

// appendPath appends the canonical form of a path. f are the flags of the form.
func appendPath(dst []byte, text string, f source.PathForm) []byte {
	switch {
	case f&source.PathPlain != 0:
		text = plainPath(text, f&source.PathParams != 0)
	case f&source.PathParams != 0:
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

// withoutParams removes the parameters of each segment: everything from a ; to the end of the
// segment.
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

// plainPath returns the path of a URI as servers interpret it: without query, escapes, empty
// segments and dots. With params, it removes the parameters of segments before it interprets dots,
// as servers do: /..;v=1/login is /login. All spellings of a path give the same text.
func plainPath(uri string, params bool) string {
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
	if params {
		uri = withoutParams(uri)
	}
	clean := path.Clean("/" + uri)
	if strings.HasSuffix(uri, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}
