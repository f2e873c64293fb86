package page

import (
	"flag"
	"path/filepath"
	"testing"

	"limitsrv/internal/testing/browser"
)

var shots = flag.String("shots", "", "the directory in which TestScreenshots writes pictures of the page")

// TestScreenshots writes pictures of the page for inspection, if -shots is set.
func TestScreenshots(t *testing.T) {
	if *shots == "" {
		return
	}
	f := inTrouble(t)
	tab := browser.Open(t)
	tab.Forgive("ERR_", "503", "401")
	shot := func(name string, width, height int64, scheme string) {
		tab.Screen(width, height, scheme)
		tab.Until("new Promise((done) => setTimeout(() => done(true), 300))")
		tab.Shot(filepath.Join(*shots, name+".png"))
	}
	tab.Screen(1440, 900, "light")
	tab.Visit(f.URL)
	fillAll(tab)
	shot("light", 1440, 900, "light")
	shot("dark", 1440, 900, "dark")
	shot("tablet", 900, 900, "light")
	shot("phone", 360, 740, "light")
	shot("phone-dark", 360, 740, "dark")
	tab.Screen(1440, 900, "light")
	tab.Until("(document.querySelector('#span label:last-child').click(), true)")
	tab.Click(resetButton)
	shot("hour-reset", 1440, 900, "light")
	tab.Click("#reset button")
	tab.Click("#denied [data-action=block]")
	shot("block-phone", 360, 740, "dark")
	tab.Click("#block .danger")
	tab.UntilText("#said", "Blocked")
	shot("blocked-phone", 360, 740, "light")
	f.set(func() { f.topError = "the state is being loaded" })
	f.set(func() { f.offline = true })
	tab.UntilText("#lost", "does not answer")
	shot("lost", 1440, 900, "dark")
	f.set(func() { f.offline, f.notReady, f.topError, f.login = false, "", "", "secret" })
	tab.UntilText("#login", "Your login has ended")
	tab.Fill("#login-password", "wrong")
	tab.Click("#login-submit")
	tab.UntilText("#login-error", "Invalid")
	shot("login", 1440, 900, "light")
	shot("login-phone", 360, 740, "dark")
	tab.Visit(f.URL + "/troubleshooting.html#disk-full")
	shot("document", 1440, 900, "light")
	shot("document-phone", 360, 740, "dark")
}
