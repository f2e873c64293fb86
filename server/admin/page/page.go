// Package page serves the dashboard: one document with its script, style and charting
// library, embedded, without external resources. Beside it is the document about symptoms, as HTML.
//
// It is static. The script gets all figures from the JSON API, at api/ relative to the
// page, so the page itself needs no login and may be served below a prefix. It runs under
//
//	default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:
//
// # Shape of the script
//
// There is no build step: browsers get the files as they are. app.js is the entry point: it handles the
// login, and polls once a second while the page is visible. api.js sends the requests; history.js keeps the
// samples of an hour, charts.js draws them; status.js has the problems, tables.js the tables, lookup.js the
// state of a key, search.js the search for keys, rules.js the rules and actions.js the changes of keys.
// widgets.js has the parts of which they are made. Below them, without a page: keys.js encodes and decodes
// keys, format.js formats numbers and limits, dom.js creates elements. algorithms.js has the words for each
// algorithm, which come from the engine's table.
//
// document.go renders the document about symptoms, so that a problem can lead to a section of it.
//
// Keys are arbitrary bytes from clients. They become text nodes only, with an escape for
// each character that is invisible or reorders the text beside it. A request names a key
// by its bytes, never by its displayed text.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"time"

	"limitsrv/docs"
	"limitsrv/engine"
)

//go:embed files/*.html files/*.css files/*.js files/*.svg files/uplot/*.js files/uplot/*.css files/uplot/LICENSE
var files embed.FS

// types are the content types by file extension. The operating system's content types may
// be wrong, and a browser rejects a script of a wrong type.
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

// Handler serves the page at / and its files beside it, for GET and HEAD. Browsers cache
// them and revalidate each time.
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
			http.Error(w, r.Method+" is not allowed, use GET or HEAD", http.StatusMethodNotAllowed)
			return
		}
		header := w.Header()
		header.Set("Content-Type", found.contentType)
		header.Set("ETag", found.etag)
		header.Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found.content))
	})
}

// load reads the files, by URL path.
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
		at := name[len("files"):]
		if at == "/index.html" {
			at = "/"
		}
		assets[at] = newAsset(content, contentType)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("embedded files: %v", err))
	}
	assets["/troubleshooting.html"] = newAsset([]byte(render(string(docs.Troubleshooting))), types[".html"])
	assets["/algorithms.js"] = newAsset(algorithms(), types[".js"])
	return assets
}

// algorithms returns the module with the words for each algorithm of the engine.
func algorithms() []byte {
	type words struct {
		Title string `json:"title"`
		Form  string `json:"form"`
	}
	all := map[string]words{}
	for a := range engine.Algs() {
		all[a.String()] = words{a.Usage().Title, a.Usage().Form}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		panic(err) // strings only
	}
	return fmt.Appendf(nil, "export const algorithms = %s;\n", text)
}

func newAsset(content []byte, contentType string) asset {
	sum := sha256.Sum256(content)
	return asset{content, contentType, `"` + hex.EncodeToString(sum[:16]) + `"`}
}
