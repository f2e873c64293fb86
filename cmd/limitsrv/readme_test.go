package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"limitsrv/commands"
)

const readme = "../../README.md"

// rewrite is the flag of datadriven that writes expected texts.
var rewrite = flag.Lookup("rewrite")

// commandTable matches the command table of the README between its markers.
var commandTable = regexp.MustCompile(`(?s)(<!-- commands: [^\n]*-->\n).*?(<!-- end of commands -->)`)

// TestReadmeCommandTable compares the README's table with the command table. With
// -rewrite it writes the README's.
func TestReadmeCommandTable(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	others := map[string][]string{}
	var groups []string
	table.WriteString("| command | what it does | cost |\n|---|---|---|\n")
	for _, c := range commands.Table() {
		if c.Group == limiterGroup || strings.HasPrefix(c.Name, "RL.") {
			fmt.Fprintf(&table, "| `%s %s` | %s | %s |\n", c.Name, strings.ReplaceAll(c.Args, "|", "\\|"), c.Summary, c.Complexity)
			continue
		}
		if others[c.Group] == nil {
			groups = append(groups, c.Group)
		}
		others[c.Group] = append(others[c.Group], c.Name)
	}
	table.WriteString("\nAnd of Redis: ")
	for i, g := range groups {
		if i > 0 {
			table.WriteString("; ")
		}
		fmt.Fprintf(&table, "%s `%s`", g, strings.Join(others[g], " "))
	}
	table.WriteString(".\n")
	want := commandTable.ReplaceAllString(string(text), "${1}"+strings.ReplaceAll(table.String(), "$", "$$")+"${2}")
	if want == string(text) {
		return
	}
	if rewrite.Value.String() != "true" {
		t.Fatal("the README's command table differs from the command table: go test ./cmd/limitsrv -run Readme -rewrite")
	}
	if err := os.WriteFile(readme, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestReadmeConsole runs the README's redis-cli lines in order, against a server with a
// test clock, and compares the output.
func TestReadmeConsole(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(serve(t, "--test-clock").address)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for _, step := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			line, want, _ := strings.Cut(step, "\n")
			args, isCLI := strings.CutPrefix(line, "redis-cli ")
			if !isCLI {
				t.Errorf("%q: want a redis-cli command", line)
				continue
			}
			got, err := exec.Command("redis-cli", append([]string{"-p", port}, strings.Fields(args)...)...).CombinedOutput()
			if err != nil || strings.TrimSpace(string(got)) != strings.TrimSpace(want) {
				t.Errorf("%s\n got %s (%v)\nwant %s", line, got, err, want)
			}
			ran++
		}
	}
	if ran < 10 {
		t.Errorf("%d lines were run, want at least 10", ran)
	}
}
