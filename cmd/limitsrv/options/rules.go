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

// PrepareRules compiles files of rules, as ReadRules returns them; nil without files. An error
// names the place, FILE:LINE.
func PrepareRules(all []source.File) (*ruleset.Prepared, error) {
	if all == nil {
		return nil, nil
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
	all, err := o.ReadRules()
	if err == nil {
		_, err = PrepareRules(all)
	}
	if err != nil {
		return fmt.Errorf("--rules: %w", err)
	}
	return nil
}
