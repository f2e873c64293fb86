// Package page is the page that shows what a server does: one document with its
// script, style and charting library, embedded, with nothing from elsewhere.
//
// It is static. All that it shows the script asks of the JSON API beside it, at
// api/ relative to the page, so that the page needs no login, and may be served
// below a prefix. It runs under
//
//	default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:
//
// # Shape of the script
//
// There is no build step: what is in files is what browsers get. app.js is the
// whole: who is logged in, and one round of questions a second while the page is
// seen. api.js asks; history.js keeps the samples of an hour, charts.js draws them;
// tables.js is the tables and lookup.js one key. Below them, without a page:
// keys.js shows and reads keys, words.js numbers and limits, dom.js makes elements.
//
// Keys are whatever strangers send. They become text nodes only, with what is
// invisible, or reorders the text beside it, written as an escape; and a key is
// asked for by its bytes, never by what is shown.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"time"
)

//go:embed files/*.html files/*.css files/*.js files/*.svg files/uplot/*.js files/uplot/*.css files/uplot/LICENSE
var files embed.FS

// types are the content types of the files, by the ends of their names: those of
// the operating system may be wrong, and a browser takes no script of a wrong one.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	"":      "text/plain; charset=utf-8",
}

// An asset is a file as it is served.
type asset struct {
	content           []byte
	contentType, etag string
}

// Handler serves the page at / and its files beside it, for GET and HEAD. Browsers
// keep them and ask each time whether they have changed.
func Handler() http.Handler {
	assets := load()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found, ok := assets[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, r.Method+" is not for files, GET and HEAD are", http.StatusMethodNotAllowed)
			return
		}
		header := w.Header()
		header.Set("Content-Type", found.contentType)
		header.Set("ETag", found.etag)
		header.Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found.content))
	})
}

// load reads the files by the paths that they are asked for at.
func load() map[string]asset {
	assets := map[string]asset{}
	err := fs.WalkDir(files, "files", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		contentType, ok := types[path.Ext(name)]
		if !ok {
			return fmt.Errorf("%s has no content type", name)
		}
		sum := sha256.Sum256(content)
		found := asset{content, contentType, `"` + hex.EncodeToString(sum[:16]) + `"`}
		at := name[len("files"):]
		if at == "/index.html" {
			at = "/"
		}
		assets[at] = found
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("embedded files: %v", err))
	}
	return assets
}
