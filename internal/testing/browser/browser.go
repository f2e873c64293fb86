// Package browser drives pages in Chromium for tests: it presses keys, clicks and reads
// as a user does, and collects all errors that the browser reports.
//
// Each tab has a browser process and a profile of its own, both removed when the test
// ends, also if it fails.
package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"limitsrv/internal/testing/testwait"
)

const (
	program = "chromium"
	// actionTimeout bounds an action in a page, on a busy machine.
	actionTimeout = 30 * time.Second
	// lifetime bounds a whole test.
	lifetime = 4 * time.Minute
)

// A Tab is a page in a browser. Its methods end the test if they fail.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu         sync.Mutex
	forgiven   []string
	complaints []string
	requests   []string
}

// Open starts a browser, which is stopped at the end of the test. An error that the
// browser reported and the test did not Forgive fails the test. Under -short it skips the
// test, because a browser takes seconds to start.
func Open(t testing.TB) *Tab {
	t.Helper()
	testwait.Long(t)
	path := testwait.Program(t, program)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("headless", "new"),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("lang", "en-US"), chromedp.Flag("font-render-hinting", "none"),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := context.WithTimeout(context.Background(), testwait.Scaled(lifetime))
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	tab := &Tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, tab.onEvent); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	t.Cleanup(func() {
		for _, complaint := range tab.Complaints() {
			t.Errorf("browser error: %s", complaint)
		}
	})
	return tab
}

// onEvent records the errors and requests that the browser reports.
func (tab *Tab) onEvent(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			var words []string
			for _, arg := range e.Args {
				words = append(words, string(arg.Value)+arg.Description)
			}
			tab.complain("console %s: %s", e.Type, strings.Join(words, " "))
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		tab.complain("exception: %s", text)
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			tab.complain("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled {
			tab.complain("loading failed: %s %s", e.ErrorText, e.BlockedReason)
		}
	case *network.EventRequestWillBeSent:
		tab.mu.Lock()
		tab.requests = append(tab.requests, e.Request.URL)
		tab.mu.Unlock()
	}
}

func (tab *Tab) complain(format string, args ...any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	complaint := fmt.Sprintf(format, args...)
	for _, one := range tab.forgiven {
		if strings.Contains(complaint, one) {
			return
		}
	}
	tab.complaints = append(tab.complaints, complaint)
}

// Forgive ignores reports that contain one of the texts, from now on.
func (tab *Tab) Forgive(texts ...string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.forgiven = append(tab.forgiven, texts...)
}

// Complaints returns the reports since the last call.
func (tab *Tab) Complaints() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	all := tab.complaints
	tab.complaints = nil
	return all
}

// Requests returns the addresses requested so far.
func (tab *Tab) Requests() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return append([]string(nil), tab.requests...)
}

// StaysAt fails the test if an address outside of origin was requested.
func (tab *Tab) StaysAt(origin string) {
	tab.t.Helper()
	for _, requested := range tab.Requests() {
		at, err := url.Parse(requested)
		if err != nil || at.Scheme != "data" && at.Scheme+"://"+at.Host != origin {
			tab.t.Errorf("%s was requested, which is outside of %s", requested, origin)
		}
	}
}

// Do runs actions in order.
func (tab *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	if err := tab.try(actions...); err != nil {
		tab.t.Fatal(err)
	}
}

func (tab *Tab) try(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, stop := context.WithTimeout(tab.ctx, testwait.Scaled(actionTimeout))
	defer stop()
	return chromedp.Do(ctx, actions...)
}

// Visit opens an address.
func (tab *Tab) Visit(address string) {
	tab.t.Helper()
	tab.Do(chromedp.Navigate(address))
}

// Value returns the value of an expression in the page's script. A promise is awaited.
func Value[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	ctx, stop := context.WithTimeout(tab.ctx, testwait.Scaled(actionTimeout))
	defer stop()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		tab.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// Until blocks until an expression is true.
func (tab *Tab) Until(expression string) {
	tab.t.Helper()
	for deadline := testwait.Soon(actionTimeout); ; time.Sleep(30 * time.Millisecond) {
		if Value[bool](tab, "Boolean("+expression+")") {
			return
		}
		if time.Now().After(deadline) {
			complaints := tab.Complaints()
			tab.t.Fatalf("not within %v: %s\n%.3000s\n%q", actionTimeout, expression, tab.Text("body"),
				complaints[:min(len(complaints), 10)])
		}
	}
}

// Text returns the text of an element, or "" if it is missing.
func (tab *Tab) Text(selector string) string {
	tab.t.Helper()
	return Value[string](tab, fmt.Sprintf("document.querySelector(%s)?.innerText ?? ''", strconv.Quote(selector)))
}

// UntilText blocks until the text of an element contains text.
func (tab *Tab) UntilText(selector, text string) {
	tab.t.Helper()
	tab.Until(fmt.Sprintf("document.querySelector(%s)?.innerText.includes(%s)", strconv.Quote(selector),
		strconv.Quote(text)))
}

// Sees reports whether an element exists and is not hidden.
func (tab *Tab) Sees(selector string) bool {
	tab.t.Helper()
	return Value[bool](tab, fmt.Sprintf("document.querySelector(%s)?.checkVisibility() ?? false", strconv.Quote(selector)))
}

// Click waits for an element and clicks on it. If the page draws the element anew meanwhile, Click clicks on the
// new element.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	for tries := 1; ; tries++ {
		err := tab.try(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
		switch {
		case err == nil:
			return
		case tries == mostClicks || !strings.Contains(err.Error(), gone):
			tab.t.Fatal(err)
		}
	}
}

// gone is in the error of an action on an element that the page has removed before the action.
const gone = "Could not find node with given id"

// mostClicks bounds the tries of a click.
const mostClicks = 10

// Type presses keys, as in package kb of chromedp, or types text, in the focused element.
func (tab *Tab) Type(text string) {
	tab.t.Helper()
	tab.Do(chromedp.KeyEvent(text))
}

// Fill replaces the text of an input.
func (tab *Tab) Fill(selector, text string) {
	tab.t.Helper()
	tab.Do(chromedp.WaitVisible(chromedp.CSS(selector)))
	Value[bool](tab, fmt.Sprintf("(document.querySelector(%s).select(), true)", strconv.Quote(selector)))
	tab.Type(text)
}

// Focused returns the id, or else the label, name or text, of the focused element.
func (tab *Tab) Focused() string {
	tab.t.Helper()
	return Value[string](tab, "document.activeElement.id || document.activeElement.getAttribute('aria-label') || "+
		"document.activeElement.name || document.activeElement.innerText || document.activeElement.tagName")
}

// Screen sets the size of the viewport, in CSS pixels, and the preferred color scheme:
// "light" or "dark".
func (tab *Tab) Screen(width, height int64, scheme string) {
	tab.t.Helper()
	tab.Do(chromedp.EmulateViewport(width, height))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}
	if _, err := chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, media); err != nil {
		tab.t.Fatal(err)
	}
}

// Shot writes a picture of the whole page into a file, as PNG.
func (tab *Tab) Shot(file string) {
	tab.t.Helper()
	ctx, stop := context.WithTimeout(tab.ctx, testwait.Scaled(actionTimeout))
	defer stop()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(file, picture, 0o644)
	}
	if err != nil {
		tab.t.Fatal(err)
	}
}
