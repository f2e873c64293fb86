package source

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"limitsrv/internal/yamlfile"
)

// Parse reads the documents of files, in their order. The error is a Mistakes. Cost: about 100
// ns for each part of a text in plain YAML; of another text, or a text with a mistake, 250 bytes
// of memory and a microsecond, most of it the YAML reader's.
func Parse(files []File) (docs []Document, err error) {
	if err := checkSize(files); err != nil {
		return nil, err
	}
	r := newReader()
	for _, f := range files {
		if plain, ok := r.plainFile(f); ok {
			docs = append(docs, plain...)
		} else {
			docs = append(docs, r.wholeFile(f, len(files) > 1)...)
		}
	}
	if len(docs) == 0 && len(r.mistakes) == 0 && len(files) > 0 {
		r.name = files[0].Name
		r.mistakeAt(1, noDocument+documentNeeds+", got none")
	}
	if len(r.mistakes) > 0 {
		return nil, r.mistakes
	}
	return docs, nil
}

// plainFile reads a file in plain YAML. ok is false if it is not, or has a mistake: then the
// reader is as before, and wholeFile finds the mistakes.
func (r *reader) plainFile(f File) (docs []Document, ok bool) {
	before := *r
	r.name, r.stream = f.Name, yamlfile.NewStream(f.Text, longLists...)
	for root := range r.stream.Roots() {
		r.begin(len(f.Text))
		if d, ok := r.document(root); ok {
			docs = append(docs, d)
		}
	}
	ok = r.stream.OK() && len(docs) > 0 && len(r.mistakes) == len(before.mistakes)
	if r.stream = nil; !ok {
		*r = before
	}
	return docs, ok
}

// documentNeeds names the word of a document of rules.
const documentNeeds = "the word domain"

// wholeFile reads a file in any YAML. It may be empty if it is one of several.
func (r *reader) wholeFile(f File, mayBeEmpty bool) (docs []Document) {
	needs := documentNeeds
	if mayBeEmpty {
		needs = ""
	}
	r.file(f, needs, func(root *yaml.Node) {
		if d, ok := r.document(root); ok {
			docs = append(docs, d)
		}
	})
	return docs
}

// checkSize returns a Mistakes if the text of files is too long to be read.
func checkSize(files []File) error {
	size, parts := 0, 0
	for _, f := range files {
		if size += len(f.Text); size > MaxBytes {
			return Mistakes{{At{f.Name, 1},
				fmt.Sprintf("the text of all files may have %d bytes, with this file it has %d", MaxBytes, size)}}
		}
		for _, c := range []byte(partBytes) {
			parts += bytes.Count(f.Text, []byte{c})
		}
		if parts > MaxParts {
			return Mistakes{{At{f.Name, 1}, fmt.Sprintf("the text of all files may have %d line ends and characters of %s, "+
				"with this file it has %d", MaxParts, partBytes[1:], parts)}}
		}
	}
	return nil
}

// noDocument is the start of the mistake of a file without a document.
const noDocument = "a file must have at least one document, with "

// file calls read for the root of each document of a file, at least one unless needs is empty. needs
// names the words of a document.
func (r *reader) file(f File, needs string, read func(root *yaml.Node)) {
	r.name = f.Name
	documents := 0
	for root, err := range yamlfile.Roots(f.Text) {
		if wrong := (*yamlfile.SyntaxError)(nil); errors.As(err, &wrong) {
			text := wrong.Text
			if isTabbed(f.Text, wrong.Line) {
				text = "the line must begin with spaces, got a tab"
			}
			r.mistakeAt(wrong.Line, "the YAML can't be read: "+text)
			return
		}
		documents++
		r.begin(0)
		if r.parts = r.count(root, 0); r.stopped {
			return
		}
		read(root)
	}
	if documents == 0 && needs != "" {
		r.mistakeAt(1, noDocument+needs+", got none")
	}
}

// isTabbed reports whether the indentation of a line has a tab. Lines count from 1.
func isTabbed(text []byte, line int) bool {
	for ; line > 1; line-- {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	return bytes.HasPrefix(bytes.TrimLeft(text, " "), []byte("\t"))
}

// begin begins a document with at most so many parts.
func (r *reader) begin(parts int) {
	r.visits, r.stopped, r.warnings, r.own, r.parts = 0, false, nil, nil, parts
}

// partBytes are bytes. At least one of them stands between two parts of a text.
const partBytes = "\n,:[{-?"
