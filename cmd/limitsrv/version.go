package main

import (
	"fmt"
	"runtime/debug"
)

// version is the version of the server, as reported by INFO and --version.
const version = "0.1.0"

// versionText returns the version, the source revision and the Go version of the build.
func versionText() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "limitsrv " + version
	}
	revision, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = " " + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with changes"
		}
	}
	return fmt.Sprintf("limitsrv %s%s%s (%s)", version, revision, changed, info.GoVersion)
}

// runVersion is the tool version.
func runVersion(c call) int {
	if c.asksHelp() {
		fmt.Fprintln(c.stdout, "usage: limitsrv version")
		return exitOK
	}
	fmt.Fprintln(c.stdout, versionText())
	return exitOK
}
