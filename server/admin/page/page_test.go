package page

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

func TestHandler(t *testing.T) {
	handler := Handler()
	ask := func(method, at, have string) *http.Response {
		r := httptest.NewRequest(method, at, nil)
		r.Header.Set("If-None-Match", have)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Result()
	}
	for _, tt := range []struct {
		name, method, at string
		status           int
		contentType      string
	}{
		{"the page", "GET", "/", 200, "text/html; charset=utf-8"},
		{"its head", "HEAD", "/", 200, "text/html; charset=utf-8"},
		{"a script", "GET", "/app.js", 200, "text/javascript; charset=utf-8"},
		{"a style", "GET", "/style.css", 200, "text/css; charset=utf-8"},
		{"the icon", "GET", "/icon.svg", 200, "image/svg+xml"},
		{"what is not ours", "GET", "/uplot/uPlot.iife.min.js", 200, "text/javascript; charset=utf-8"},
		{"its licence", "GET", "/uplot/LICENSE", 200, "text/plain; charset=utf-8"},
		{"a directory", "GET", "/uplot/", 404, "text/plain; charset=utf-8"},
		{"a way out", "GET", "/../page.go", 404, "text/plain; charset=utf-8"},
		{"the page by its file", "GET", "/index.html", 404, "text/plain; charset=utf-8"},
		{"a change", "POST", "/", 405, "text/plain; charset=utf-8"},
	} {
		got := ask(tt.method, tt.at, "")
		if got.StatusCode != tt.status || got.Header.Get("Content-Type") != tt.contentType {
			t.Errorf("%s: %s %s = %d %q, want %d %q", tt.name, tt.method, tt.at, got.StatusCode, got.Header.Get("Content-Type"), tt.status, tt.contentType)
		}
		if tt.status != 200 {
			continue
		}
		if got.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: Cache-Control %q, want to be asked each time", tt.name, got.Header.Get("Cache-Control"))
		}
		if again := ask(tt.method, tt.at, got.Header.Get("ETag")); again.StatusCode != 304 {
			t.Errorf("%s, unchanged: %d, want 304", tt.name, again.StatusCode)
		}
	}
	for at := range load() {
		if got := ask("GET", at, `"other"`); got.StatusCode != 200 {
			t.Errorf("%s, changed: %d, want 200", at, got.StatusCode)
		}
	}
}

// forbidden is what our own files do without: what a policy refuses, and whatever
// makes markup or script of text.
var forbidden = regexp.MustCompile(`(?i)innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|\son[a-z]+=|\sstyle=|javascript:|<script>|https?://|cssText`)

// namespace is that of pictures, and nobody asks for it.
const namespace = "http://www.w3.org/2000/svg"

func TestFilesAreTame(t *testing.T) {
	seen := 0
	for at, file := range load() {
		if strings.HasPrefix(at, "/uplot/") {
			continue
		}
		seen++
		text := strings.ReplaceAll(string(file.content), namespace, "")
		if found := forbidden.FindString(text); found != "" {
			t.Errorf("%s has %q", at, found)
		}
		if lines := strings.Count(text, "\n"); lines > 400 {
			t.Errorf("%s has %d lines, at most 400 are wanted", at, lines)
		}
	}
	if seen < 10 {
		t.Errorf("%d files were looked at, want all", seen)
	}
}

// TestVendoredIsUnchanged holds what is not ours to the sums in its README.
func TestVendoredIsUnchanged(t *testing.T) {
	const dir = "files/uplot"
	readme, err := os.ReadFile(path.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() == "README.md" {
			continue
		}
		content, err := os.ReadFile(path.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		if line := hex.EncodeToString(sum[:]) + "  " + entry.Name(); !strings.Contains(string(readme), line) {
			t.Errorf("%s is not as its README says: want the line %q", entry.Name(), line)
		}
	}
}

// leastContrast is that of WCAG 2, level AA, for text; leastContrastOfShapes for what is no text.
const (
	leastContrast         = 4.5
	leastContrastOfShapes = 3
)

// TestContrast holds the colors to what people with weak eyes can read, in light and in dark.
func TestContrast(t *testing.T) {
	style, err := files.ReadFile("files/style.css")
	if err != nil {
		t.Fatal(err)
	}
	colors := map[string]string{}
	schemes := 0
	for _, block := range regexp.MustCompile(`(?s):root \{.*?\}`).FindAllString(string(style), 2) {
		for _, found := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(block, -1) {
			colors[found[1]] = found[2]
		}
		schemes++
		for _, pair := range [][2]string{
			{"text", "page"}, {"text", "panel"}, {"text", "bar"}, {"text", "bar-hot"}, {"muted", "page"}, {"muted", "panel"}, {"muted", "bar"}, {"muted", "bar-hot"},
			{"panel", "text"}, {"panel", "allowed"}, {"good", "panel"}, {"bad", "panel"}, {"good", "good-back"}, {"bad", "bad-back"}, {"warn", "warn-back"}, {"warn", "panel"},
		} {
			if got := contrast(t, colors[pair[0]], colors[pair[1]]); got < leastContrast {
				t.Errorf("scheme %d: %s on %s has a contrast of %.2f, want %v", schemes, pair[0], pair[1], got, leastContrast)
			}
		}
		for _, shape := range []string{"allowed", "denied", "second", "focus"} {
			if got := contrast(t, colors[shape], colors["panel"]); got < leastContrastOfShapes {
				t.Errorf("scheme %d: %s has a contrast of %.2f, want %d", schemes, shape, got, leastContrastOfShapes)
			}
		}
	}
	if schemes != 2 {
		t.Errorf("%d schemes were looked at, want light and dark", schemes)
	}
}

// contrast is the contrast ratio of WCAG 2.
func contrast(t *testing.T, one, other string) float64 {
	t.Helper()
	luminance := func(color string) float64 {
		var rgb [3]uint8
		if _, err := fmt.Sscanf(color, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
			t.Fatalf("color %q: %v", color, err)
		}
		var linear [3]float64
		for i, c := range rgb {
			linear[i] = math.Pow((float64(c)/255+.055)/1.055, 2.4) // for the few darkest, a little off
		}
		return .2126*linear[0] + .7152*linear[1] + .0722*linear[2]
	}
	a, b := luminance(one), luminance(other)
	return (max(a, b) + .05) / (min(a, b) + .05)
}
