package live

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/rules/stored"
	"limitsrv/internal/pace"
)

// Prepare compiles files as a single text. The error is an *resp.Error with the first mistake
// and its place, FILE:LINE, or line LINE of a file without a name. Cost: about half a second
// for source.MaxRules rules in plain YAML, at low priority because nobody waits for rules yet.
func Prepare(files []source.File) (*stored.Prepared, error) {
	text, err := join(files)
	if err != nil {
		return nil, err
	}
	one := files
	if len(files) > 1 {
		one = []source.File{{Name: "all files as one text", Text: text}} // as other nodes will
	}
	p := &stored.Prepared{Text: text}
	pace.Background(func() {
		if len(files) > 1 { // each must be whole, as limitsrv rules check reads it
			if _, err = source.Parse(files); err != nil {
				return
			}
		}
		if p.Set, err = rules.Load(one); err == nil {
			p.SHA = sumOf(text)
		} else if _, named := rules.Load(files); named != nil { // with the names of the files
			err = named
		}
	})
	if err != nil {
		return nil, mistake(err)
	}
	return p, nil
}

// sumOf returns the SHA-256 of a text.
func sumOf(text []byte) (sum [sha256.Size]byte) {
	var p pace.Pace
	h := sha256.New()
	for part := range slices.Chunk(text, 1<<10) {
		p.Step()
		h.Write(part)
	}
	h.Sum(sum[:0])
	return sum
}

// Proposal returns files and the Set that was compiled of them, for a server that compiles their
// one text again.
func Proposal(files []source.File, set *rules.Set) (*stored.Prepared, error) {
	text, err := join(files)
	if err != nil {
		return nil, err
	}
	return &stored.Prepared{Text: text, SHA: sumOf(text), Set: set}, nil
}

// byteOrderMark may stand at the start of a file, but not within a text.
var byteOrderMark = []byte("\ufeff")

// join returns files as a single text.
func join(files []source.File) (text []byte, err error) {
	for i := range files {
		part := files[i].Text
		if i > 0 {
			text, part = append(bytes.TrimSuffix(text, []byte("\n")), "\n---\n"...), bytes.TrimPrefix(part, byteOrderMark)
		}
		text = append(text, part...)
	}
	if len(text) > stored.MaxBytes {
		return nil, resp.NewError("ERR",
			fmt.Sprintf("rules: at most %d bytes of text are allowed, got %d", stored.MaxBytes, len(text)))
	}
	return text, nil
}

// mistake returns the error for people about a text with mistakes.
func mistake(err error) error {
	var all source.Mistakes
	if !errors.As(err, &all) || len(all) == 0 {
		return resp.NewError("ERR", "rules: "+err.Error())
	}
	place, more := all[0].At.String(), ""
	if all[0].File == "" {
		place = fmt.Sprintf("line %d", all[0].Line)
	}
	if n := len(all) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return resp.NewError("ERR", "rules: "+place+": "+all[0].Text+more)
}
