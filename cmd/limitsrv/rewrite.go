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

	"limitsrv/commands/resp"
	"limitsrv/files"
)

// rewriteFile runs CONFIG REWRITE in the background and calls done with its result.
// Rewrites are serialized.
func (n *node) rewriteFile(done func(error)) {
	go func() {
		n.rewriting.Lock()
		defer n.rewriting.Unlock()
		err := n.rewrite()
		if err != nil {
			n.log.Error("configuration file not rewritten", "error", err)
			err = resp.NewError("ERR", "Rewriting config file: "+strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		done(err)
	}()
}

// rewrite writes the options changed by CONFIG SET to the configuration file, so that
// the next start keeps them.
func (n *node) rewrite() error {
	c, err := n.reparse()
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
		if _, ok := envSetting(f); ok || c.given[f.Name] {
			n.log.Warn("option in the configuration file is overridden", "option", f.Name, "overridden_by", c.origin(f))
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
	n.log.Info("configuration file rewritten", "file", c.Config, "options", strings.Join(slices.Sorted(maps.Keys(set)), " "))
	return nil
}

// fileValue converts the value of CONFIG GET for a settable option to its form in a
// configuration file.
func fileValue(f *kong.Flag, value string) string {
	switch f.Target.Interface().(type) {
	case time.Duration:
		return value + "s"
	case slog.Level:
		return strings.ToLower(value)
	case size:
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return size(n).String()
		}
	}
	return value
}

// putOptions sets options in the text of a configuration file: each replaces the
// option's line, or follows its commented-out line, or is appended. All other lines are
// unchanged. It fails if the result would not parse to the intended values.
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
		return "", fmt.Errorf("%s has options in a form that can't be rewritten; use lines such as max-memory: 256mb", c.Config)
	}
	return text, nil
}

// replaceFile atomically replaces the content of a file, also across a power cut, and
// keeps its mode.
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
