package browser

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"limitsrv/internal/testing/testwait"
)

// BarredBy returns the barriers of the page for users with disabilities, as far as axe-core finds
// them and calls them serious or critical: the rule, its help, and the elements. Colors and sizes
// count as they are on the screen. Only one test at a time may call it for the first time, because it
// then installs axe-core.
func (tab *Tab) BarredBy() (barriers []string) {
	tab.t.Helper()
	if Value[bool](tab, "globalThis.axe === undefined") {
		Value[bool](tab, tab.axe()+"; true")
	}
	return Value[[]string](tab, `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations
		.filter(({ impact }) => impact === "serious" || impact === "critical")
		.map(({ id, help, nodes }) => id + " (" + help + "): " + nodes.slice(0, 5)
			.map(({ html, failureSummary }) => html + " " + failureSummary).join(" | ")))`)
}

// axe returns the script of axe-core.
func (tab *Tab) axe() string {
	tab.t.Helper()
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Join(filepath.Dir(file), "axe")
	script := filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")
	text, err := os.ReadFile(script)
	if errors.Is(err, fs.ErrNotExist) {
		if out, failed := exec.Command(filepath.Join(dir, "install")).CombinedOutput(); failed != nil {
			testwait.Missing(tab.t, "axe-core can't be installed: %v\n%s", failed, out)
		}
		text, err = os.ReadFile(script)
	}
	if err != nil {
		tab.t.Fatal(err)
	}
	if !strings.Contains(string(text), "axe.run") {
		tab.t.Fatalf("%s is not axe-core", script)
	}
	return string(text)
}
