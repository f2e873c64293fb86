// Notice prints NOTICE: the license of limitsrv, and the licenses of Go and of all libraries in
// the binaries that .ci/release makes. It reads them from the module cache, without a network.
//
//	go run ./tools/notice >NOTICE
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// released are the processors of .ci/release.
var released = []string{"amd64", "arm64"}

// A library is a module that a binary contains, Go's standard library, or an embedded folder.
type library struct {
	Path, Version, Dir string
}

func main() {
	text, err := notice()
	if err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
	os.Stdout.WriteString(text)
}

// notice returns the text of NOTICE. Libraries share a text with the same words.
func notice() (string, error) {
	libraries, err := libraries()
	if err != nil {
		return "", err
	}
	var order []string
	users := map[string][]string{} // by the words of the license
	for _, l := range libraries {
		texts, err := licensesOf(l.Dir)
		if err != nil {
			return "", fmt.Errorf("%s: %w", l.Path, err)
		}
		for _, text := range texts {
			same := strings.Join(strings.Fields(text), " ")
			if users[same] == nil {
				order = append(order, text)
			}
			users[same] = append(users[same], strings.TrimSpace(l.Path+" "+l.Version))
		}
	}
	var b strings.Builder
	b.WriteString("limitsrv\nCopyright 2026 the limitsrv authors\n\n" +
		"limitsrv is licensed under the Apache License 2.0, see LICENSE. Its binary contains the libraries\n" +
		"below. The licenses and notices of a library follow its name. To get the source of MODULE\n" +
		"VERSION, run: go mod download MODULE@VERSION\n")
	for _, text := range order {
		same := strings.Join(strings.Fields(text), " ")
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(users[same], "\n"), text)
	}
	return b.String(), nil
}

// modulesAndFiles is a template of go list. It prints path, version and directory of the module of
// a package, or the embedded files of a package of limitsrv.
const modulesAndFiles = `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{else}}
{{range $.EmbedFiles}}{{$.Dir}}/{{.}}
{{end}}{{end}}{{end}}`

// libraries returns the standard library, and by their paths the modules in the released binaries
// and the embedded folders that have a license.
func libraries() ([]library, error) {
	root, err := goCommand("amd64", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	found := map[string]library{}
	for _, arch := range released {
		listed, err := goCommand(arch, "list", "-deps", "-f", modulesAndFiles, "limitsrv/cmd/limitsrv")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(listed)) {
			if fields := strings.SplitN(strings.TrimSpace(line), " ", 3); len(fields) == 3 {
				found[fields[0]] = library{fields[0], fields[1], fields[2]}
			} else if dir, isLicense := strings.CutSuffix(fields[0], "/LICENSE"); isLicense {
				found[dir] = library{filepath.Base(dir), "", dir}
			}
		}
	}
	all := []library{{Path: "the standard library of Go", Dir: string(bytes.TrimSpace(root))}}
	for _, l := range found {
		all = append(all, l)
	}
	slices.SortFunc(all[1:], func(a, b library) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// goCommand returns the output of a go command for a released binary.
func goCommand(arch string, arguments ...string) ([]byte, error) {
	command := exec.Command("go", arguments...)
	command.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	return command.Output()
}

// legal matches the names of the license files and notices of libraries.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)`)

// licensesOf returns the texts of the license files and notices in a library's directory.
func licensesOf(dir string) (texts []string, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if !legal.MatchString(file.Name()) || file.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.Trim(strings.ReplaceAll(string(text), "\r", ""), "\n"))
	}
	if len(texts) == 0 {
		return nil, errors.New("has no license")
	}
	return texts, nil
}
