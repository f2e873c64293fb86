package settings

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"limitsrv/cmd/limitsrv/options"
	"limitsrv/commands/resp"
	"limitsrv/internal/files"
)

// Rewrite runs CONFIG REWRITE in the background and calls done with its result. Rewrites
// are serialized.
func (s *Settings) Rewrite(done func(error)) {
	go func() {
		s.rewriting.Lock()
		defer s.rewriting.Unlock()
		err := s.rewrite()
		if err != nil {
			s.log.Error("configuration file not rewritten", "error", err)
			err = resp.NewError("ERR", "Rewriting config file: "+strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		done(err)
	}()
}

// rewrite writes the options changed by CONFIG SET to the configuration file, so that
// the next start keeps them.
func (s *Settings) rewrite() error {
	c, err := s.config.Reparse()
	if err != nil {
		return err
	}
	name, err := filepath.EvalSymlinks(c.Config)
	if err != nil {
		return err
	}
	text, _, err := files.Read(name, options.MaxFileBytes)
	if err != nil {
		return err
	}
	set := map[string]string{}
	for _, o := range s.List() {
		if o.Set == nil || c.Value(o.Name) == o.Value {
			continue
		}
		if source, ok := c.Override(o.Name); ok {
			s.log.Warn("option in the configuration file is overridden", "option", o.Name, "overridden_by", source)
		}
		set[o.Name] = o.Value
	}
	if len(set) == 0 {
		return nil
	}
	rewritten, err := c.Put(string(text), set)
	if err != nil {
		return err
	}
	if err := replaceFile(name, rewritten); err != nil {
		return err
	}
	s.log.Info("configuration file rewritten", "file", c.Config, "options",
		strings.Join(slices.Sorted(maps.Keys(set)), " "))
	return nil
}

// rewriteSuffix is the suffix of an incomplete file. All rewrites use the same name, so that killed
// processes leave at most one file.
const rewriteSuffix = ".rewriting"

// replaceFile atomically replaces the content of a file, also across a power cut, and
// keeps its mode.
func replaceFile(name, text string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	made := name + rewriteSuffix
	file, err := os.OpenFile(made, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(made)
	_, err = file.WriteString(text)
	err = errors.Join(err, file.Chmod(info.Mode().Perm()), file.Sync(), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(made, name)
}
