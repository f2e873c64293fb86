package options

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"limitsrv/commands/resp"
	"limitsrv/files"
	"limitsrv/rules/source"
	"limitsrv/ruleset"
)

// ReadRules reads the files of --rules. It returns none without --rules.
func (o *Options) ReadRules() (all []source.File, err error) {
	if o.Rules == "" {
		return nil, nil
	}
	return ReadRuleFiles(o.Rules)
}

// ReadRuleFiles reads files with rules, and of directories all *.yaml in the order of their
// names; together at most ruleset.MaxBytes.
func ReadRuleFiles(names ...string) (all []source.File, err error) {
	left := int64(ruleset.MaxBytes)
	for _, name := range names {
		found := []string{name}
		if entries, err := os.ReadDir(name); err == nil {
			found = nil
			for _, e := range entries {
				if filepath.Ext(e.Name()) == ".yaml" {
					found = append(found, filepath.Join(name, e.Name()))
				}
			}
			if len(found) == 0 {
				return nil, fmt.Errorf("%s: a directory of rules must have at least one file *.yaml, got none", name)
			}
		}
		for _, f := range found {
			text, _, err := files.Read(f, left)
			if err != nil {
				return nil, fmt.Errorf("read rules: %w", err)
			}
			left -= int64(len(text))
			all = append(all, source.File{Name: f, Text: text})
		}
	}
	return all, nil
}

// PrepareRules reads and compiles the files of --rules. It returns nil without --rules. An
// error names the place, FILE:LINE.
func (o *Options) PrepareRules() (*ruleset.Prepared, error) {
	all, err := o.ReadRules()
	if err != nil || all == nil {
		return nil, err
	}
	p, err := ruleset.Prepare(all)
	var mistake *resp.Error
	if errors.As(err, &mistake) {
		err = errors.New(mistake.Text)
	}
	return p, err
}

// checkRuleFiles compiles the rules.
func checkRuleFiles(o *Options) error {
	if _, err := o.PrepareRules(); err != nil {
		return fmt.Errorf("--rules: %w", err)
	}
	return nil
}
