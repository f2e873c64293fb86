// Package browser opens pages in a Chromium, for tests: it presses, types and looks as
// a person does, and hears all that the browser complains of.
//
// Each tab has a browser of its own, with a profile of its own, which ends with the
// test, however that ends.
package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
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

	"limitsrv/testwait"
)

const (
	program = "chromium"
	// patience is for anything to happen in a page, on a machine that has much to do.
	patience = 30 * time.Second
	// lifetime bounds a whole test.
	lifetime = 4 * time.Minute
)

// A Tab is a page in a browser. All of its methods end the test if they fail.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu        sync.Mutex
	forgiven  []string
	complains []string
	requests  []string
}

// Open starts a browser. When the test ends, so does it, and what it has complained
// of, without having been forgiven, fails the test.
func Open(t testing.TB) *Tab {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("there is no %s, which Debian has in a package of that name: %v", program, err)
	}
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
	if err := chromedp.Listen(ctx, tab.hear); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	t.Cleanup(func() {
		for _, complaint := range tab.Complaints() {
			t.Errorf("the browser complains: %s", complaint)
		}
	})
	return tab
}

// hear notes what the browser tells.
func (tab *Tab) hear(event any) {
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
	tab.complains = append(tab.complains, complaint)
}

// Forgive has complaints that contain one of some texts not count from now on.
func (tab *Tab) Forgive(texts ...string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.forgiven = append(tab.forgiven, texts...)
}

// Complaints are those since the last call.
func (tab *Tab) Complaints() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	all := tab.complains
	tab.complains = nil
	return all
}

// Requests are the addresses that were asked for so far.
func (tab *Tab) Requests() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return append([]string(nil), tab.requests...)
}

// StaysAt wants that nothing was asked for anywhere but at an origin.
func (tab *Tab) StaysAt(origin string) {
	tab.t.Helper()
	for _, asked := range tab.Requests() {
		at, err := url.Parse(asked)
		if err != nil || at.Scheme != "data" && at.Scheme+"://"+at.Host != origin {
			tab.t.Errorf("%s was asked for, which is not at %s", asked, origin)
		}
	}
}

// Do runs actions one after the other.
func (tab *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	ctx, stop := context.WithTimeout(tab.ctx, testwait.Scaled(patience))
	defer stop()
	if err := chromedp.Do(ctx, actions...); err != nil {
		tab.t.Fatal(err)
	}
}

// Visit opens an address.
func (tab *Tab) Visit(address string) {
	tab.t.Helper()
	tab.Do(chromedp.Navigate(address))
}

// Value is that of an expression in a page's script; a promise is waited for.
func Value[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	ctx, stop := context.WithTimeout(tab.ctx, testwait.Scaled(patience))
	defer stop()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		tab.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// Until waits until an expression is true.
func (tab *Tab) Until(expression string) {
	tab.t.Helper()
	for deadline := testwait.Soon(patience); ; time.Sleep(30 * time.Millisecond) {
		if Value[bool](tab, "Boolean("+expression+")") {
			return
		}
		if time.Now().After(deadline) {
			complaints := tab.Complaints()
			tab.t.Fatalf("not within %v: %s\n%.3000s\n%q", patience, expression, tab.Text("body"), complaints[:min(len(complaints), 10)])
		}
	}
}

// Text is what an element shows, empty where there is none.
func (tab *Tab) Text(selector string) string {
	tab.t.Helper()
	return Value[string](tab, fmt.Sprintf("document.querySelector(%s)?.innerText ?? ''", strconv.Quote(selector)))
}

// UntilText waits until an element shows a text among others.
func (tab *Tab) UntilText(selector, text string) {
	tab.t.Helper()
	tab.Until(fmt.Sprintf("document.querySelector(%s)?.innerText.includes(%s)", strconv.Quote(selector), strconv.Quote(text)))
}

// Sees says whether an element is there and not hidden.
func (tab *Tab) Sees(selector string) bool {
	tab.t.Helper()
	return Value[bool](tab, fmt.Sprintf("document.querySelector(%s)?.checkVisibility() ?? false", strconv.Quote(selector)))
}

// Click waits for an element and clicks on it.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	tab.Do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// Type presses keys, as in package kb of chromedp, or types text, where the focus is.
func (tab *Tab) Type(text string) {
	tab.t.Helper()
	tab.Do(chromedp.KeyEvent(text))
}

// Fill puts text into an input instead of what is there.
func (tab *Tab) Fill(selector, text string) {
	tab.t.Helper()
	tab.Do(chromedp.WaitVisible(chromedp.CSS(selector)))
	Value[bool](tab, fmt.Sprintf("(document.querySelector(%s).select(), true)", strconv.Quote(selector)))
	tab.Type(text)
}

// Focused is the id, or else the label, name or text, of the element that has the focus.
func (tab *Tab) Focused() string {
	tab.t.Helper()
	return Value[string](tab, "document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.name || document.activeElement.innerText || document.activeElement.tagName")
}

// Screen sets the size of what is seen, in pixels of style sheets, and what the user
// prefers: "light" or "dark".
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
	ctx, stop := context.WithTimeout(tab.ctx, testwait.Scaled(patience))
	defer stop()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(file, picture, 0o644)
	}
	if err != nil {
		tab.t.Fatal(err)
	}
}
