package options

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"limitsrv/commands/resp"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/rules/stored"
	"limitsrv/internal/files"
)

// ReadRules reads the files of --rules. It returns no files without --rules.
func (o *Options) ReadRules() (all []source.File, err error) {
	if o.Rules == "" {
		return nil, nil
	}
	return ReadRuleFiles(o.Rules)
}

// ReadRuleFiles reads the files that RuleFiles returns for names. Together they may have at most
// stored.MaxBytes.
func ReadRuleFiles(names ...string) (all []source.File, err error) {
	found, _, err := RuleFiles(names...)
	if err != nil {
		return nil, err
	}
	left := int64(stored.MaxBytes)
	for _, f := range found {
		text, _, err := files.Read(f, left)
		if err != nil {
			return nil, fmt.Errorf("read rules: %w", err)
		}
		left -= int64(len(text))
		all = append(all, source.File{Name: f, Text: text})
	}
	return all, nil
}

// LeftOutText is the reason why RuleFiles leaves a file out.
const LeftOutText = "this file is not read, because its name ends in neither .yaml nor .yml"

// RuleFiles returns each name that is a file, and for each directory its files *.yaml and *.yml, in
// any case, sorted by name. leftOut are the other entries of the directories, except hidden
// entries.
func RuleFiles(names ...string) (found, leftOut []string, err error) {
	for _, name := range names {
		entries, err := os.ReadDir(name)
		if err != nil {
			found = append(found, name) // the error is reported when the file is read
			continue
		}
		before := len(found)
		for _, e := range entries {
			file := filepath.Join(name, e.Name())
			switch ext := strings.ToLower(filepath.Ext(file)); {
			case ext == ".yaml" || ext == ".yml":
				found = append(found, file)
			case e.Name()[0] != '.':
				leftOut = append(leftOut, file)
			}
		}
		if len(found) == before {
			return nil, nil, fmt.Errorf("%s: a directory of rules must have at least one file *.yaml or *.yml, got none", name)
		}
	}
	return found, leftOut, nil
}

// PrepareRules compiles files of rules, as ReadRules returns them; nil without files. An error
// names the place, FILE:LINE.
func PrepareRules(all []source.File) (*stored.Prepared, error) {
	if all == nil {
		return nil, nil
	}
	p, err := live.Prepare(all)
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
