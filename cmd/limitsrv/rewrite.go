package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"limitsrv/commands"
	"limitsrv/files"
)

// rewriteFile is for CONFIG REWRITE. It does not wait; one goes on at a time.
func (n *node) rewriteFile(done func(error)) {
	go func() {
		n.rewriting.Lock()
		defer n.rewriting.Unlock()
		err := n.rewrite()
		if err != nil {
			n.log.Error("the file of options is as it was", "error", err)
			err = &commands.Error{Code: "ERR", Text: "Rewriting config file: " + strings.ReplaceAll(err.Error(), "\n", "; ")}
		}
		done(err)
	}()
}

// rewrite has the file of options, and so the next start, say what CONFIG SET said.
func (n *node) rewrite() error {
	c, err := n.again()
	if err != nil {
		return err
	}
	name, err := filepath.EvalSymlinks(c.Config)
	if err != nil {
		return err
	}
	text, _, err := files.Read(name, maxConfigBytes)
	if err != nil {
		return err
	}
	set := map[string]string{}
	for _, o := range n.settings.list() {
		f := c.flags[slices.IndexFunc(c.flags, func(f *kong.Flag) bool { return f.Name == o.Name })]
		if o.Set == nil || valueText(f) == o.Value {
			continue
		}
		if _, ok := setting(f); ok || c.given[f.Name] {
			n.log.Warn("what the file says of an option does not hold", "option", f.Name, "before_it_goes", c.origin(f))
		}
		set[f.Name] = fileValue(f, o.Value)
	}
	if len(set) == 0 {
		return nil
	}
	rewritten, err := putOptions(string(text), set, c)
	if err != nil {
		return err
	}
	if err := replaceFile(name, rewritten); err != nil {
		return err
	}
	n.log.Info("the file of options was rewritten", "file", c.Config, "options", strings.Join(slices.Sorted(maps.Keys(set)), " "))
	return nil
}

// fileValue is what CONFIG GET tells of an option that can be set, as a file has it.
func fileValue(f *kong.Flag, told string) string {
	switch f.Target.Interface().(type) {
	case time.Duration:
		return told + "s"
	case slog.Level:
		return strings.ToLower(told)
	case size:
		if n, err := strconv.ParseInt(told, 10, 64); err == nil {
			return size(n).String()
		}
	}
	return told
}

// putOptions puts values into the text of a file: in the place of those that are
// there, else below a line that has the option in a comment, else at the end. All
// other lines stay. It fails where the result would not be read as it is meant.
func putOptions(text string, set map[string]string, c *configuration) (string, error) {
	want := map[string]string{}
	for name, e := range c.entries {
		want[name] = e.value
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		line := name + ": " + set[name]
		_, isThere := c.entries[name]
		option := regexp.MustCompile(`(?m)^` + name + `:[ \t]*(?:"[^"#\n]*"|'[^'#\n]*'|[^\s"'#]*)([ \t]+#.*|[ \t]*)$`)
		comment := regexp.MustCompile(`(?m)^#` + name + `:.*$`).FindStringIndex(text)
		switch {
		case isThere:
			text = option.ReplaceAllString(text, line+"${1}")
		case comment != nil:
			text = text[:comment[1]] + "\n" + line + text[comment[1]:]
		default:
			text = strings.TrimSuffix(text, "\n") + "\n" + line + "\n"
		}
		want[name] = set[name]
	}
	got, err := parseConfig(c.Config, []byte(text), c.fileFlags())
	if err != nil || !maps.EqualFunc(got, want, func(e entry, value string) bool { return e.value == value }) {
		return "", fmt.Errorf("%s has options in a form that is not rewritten; wanted are lines such as max-memory: 256mb", c.Config)
	}
	return text, nil
}

// replaceFile has a file have another text, of which a power cut leaves all or none.
func replaceFile(name, text string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(text)
	err = errors.Join(err, file.Chmod(info.Mode().Perm()), file.Sync(), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}
