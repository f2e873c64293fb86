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

	"limitsrv/engine"
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
		{"a vendored script", "GET", "/uplot/uPlot.iife.min.js", 200, "text/javascript; charset=utf-8"},
		{"its licence", "GET", "/uplot/LICENSE", 200, "text/plain; charset=utf-8"},
		{"the document about symptoms", "GET", "/troubleshooting.html", 200, "text/html; charset=utf-8"},
		{"a directory", "GET", "/uplot/", 404, "text/plain; charset=utf-8"},
		{"a path outside", "GET", "/../page.go", 404, "text/plain; charset=utf-8"},
		{"the page by its file name", "GET", "/index.html", 404, "text/plain; charset=utf-8"},
		{"another method", "POST", "/", 405, "text/plain; charset=utf-8"},
	} {
		got := ask(tt.method, tt.at, "")
		if got.StatusCode != tt.status || got.Header.Get("Content-Type") != tt.contentType {
			t.Errorf("%s: %s %s = %d %q, want %d %q", tt.name, tt.method, tt.at, got.StatusCode, got.Header.Get("Content-Type"),
				tt.status, tt.contentType)
		}
		if tt.status != 200 {
			continue
		}
		if got.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: Cache-Control %q, want no-cache", tt.name, got.Header.Get("Cache-Control"))
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

// forbidden matches constructs that our files must not use: those that the policy blocks,
// and those that turn text into markup or script.
var forbidden = regexp.MustCompile(`(?i)innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|\son[a-z]+=|\sstyle=|javascript:|<script>|https?://|cssText`)

// namespace is the SVG namespace, which is never fetched.
const namespace = "http://www.w3.org/2000/svg"

func TestFilesAreSafe(t *testing.T) {
	seen := 0
	for at, file := range load() {
		if strings.HasPrefix(at, "/uplot/") || file.contentType == types[""] { // not ours, or only text
			continue
		}
		seen++
		text := strings.ReplaceAll(string(file.content), namespace, "")
		if at == "/troubleshooting.html" { // its commands have addresses
			text = strings.ReplaceAll(text, "http://127.0.0.1", "")
		}
		if found := forbidden.FindString(text); found != "" {
			t.Errorf("%s contains %q", at, found)
		}
		if lines := strings.Count(text, "\n"); lines > 400 {
			t.Errorf("%s has %d lines, want at most 400", at, lines)
		}
	}
	if seen < 10 {
		t.Errorf("%d files checked, want all", seen)
	}
}

// TestFormsOfLimits requires the words of each algorithm, with parts that format.js fills in.
func TestFormsOfLimits(t *testing.T) {
	format, err := os.ReadFile("files/format.js")
	if err != nil {
		t.Fatal(err)
	}
	for a := range engine.Algs() {
		u := a.Usage()
		if u.Title == "" || u.Form == "" {
			t.Errorf("%v: Title %q, Form %q, want both in its Usage", a, u.Title, u.Form)
		}
		for _, part := range regexp.MustCompile(`{(\w*)}`).FindAllStringSubmatch(u.Form, -1) {
			if !strings.Contains(string(format), "\n  "+part[1]+": (k) => ") {
				t.Errorf("%v: format.js has no part %q", a, part[1])
			}
		}
	}
}

// TestVendoredFilesAreUnchanged compares the vendored files with the checksums in their
// README.
func TestVendoredFilesAreUnchanged(t *testing.T) {
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
			t.Errorf("%s differs from its README: want the line %q", entry.Name(), line)
		}
	}
}

// Minimum contrasts of WCAG 2, level AA, for text and for other shapes.
const (
	minTextContrast  = 4.5
	minShapeContrast = 3
)

// TestContrast checks the contrast of the colors, in light and in dark mode.
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
			{"text", "page"}, {"text", "panel"}, {"text", "bar"}, {"text", "bar-hot"}, {"muted", "page"}, {"muted", "panel"},
			{"muted", "bar"}, {"muted", "bar-hot"},
			{"panel", "text"}, {"panel", "allowed"}, {"good", "panel"}, {"bad", "panel"}, {"good", "good-back"},
			{"bad", "bad-back"}, {"warn", "warn-back"}, {"warn", "panel"},
		} {
			if got := contrast(t, colors[pair[0]], colors[pair[1]]); got < minTextContrast {
				t.Errorf("scheme %d: %s on %s has a contrast of %.2f, want %v", schemes, pair[0], pair[1], got, minTextContrast)
			}
		}
		for _, shape := range []string{"allowed", "denied", "second", "focus"} {
			if got := contrast(t, colors[shape], colors["panel"]); got < minShapeContrast {
				t.Errorf("scheme %d: %s has a contrast of %.2f, want %d", schemes, shape, got, minShapeContrast)
			}
		}
	}
	if schemes != 2 {
		t.Errorf("%d schemes checked, want light and dark", schemes)
	}
}

// contrast returns the contrast ratio of WCAG 2.
func contrast(t *testing.T, one, other string) float64 {
	t.Helper()
	luminance := func(color string) float64 {
		var rgb [3]uint8
		if _, err := fmt.Sscanf(color, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
			t.Fatalf("color %q: %v", color, err)
		}
		var linear [3]float64
		for i, c := range rgb {
			linear[i] = math.Pow((float64(c)/255+.055)/1.055, 2.4) // slightly inexact for the darkest colors
		}
		return .2126*linear[0] + .7152*linear[1] + .0722*linear[2]
	}
	a, b := luminance(one), luminance(other)
	return (max(a, b) + .05) / (min(a, b) + .05)
}
