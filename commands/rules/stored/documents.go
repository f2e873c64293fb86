package stored

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// Bounds of the documents.
const (
	// MaxBytes bounds a text.
	MaxBytes = source.MaxBytes
	// MaxPast bounds the versions before the version in use, MaxPastBytes the texts of
	// them.
	MaxPast      = 32
	MaxPastBytes = 16 << 20
	// MaxForgotten bounds the versions before those, of these only a part of the SHA-256 is
	// kept.
	MaxForgotten = 4096
	// MaxOverrides bounds the overrides, MaxOverridesBytes their documents.
	MaxOverrides      = 10_000
	MaxOverridesBytes = 16 << 20
	// MaxNoteBytes and MaxUserBytes bound the fields of a Header.
	MaxNoteBytes = 1024
	MaxUserBytes = 256
)

const (
	headerName     = "set"
	forgottenName  = "forgotten"
	pastPrefix     = "past/"
	textPrefix     = "text/"
	overridePrefix = "override/"
)

// forgottenBytes is the number of bytes of a SHA-256 that are kept of a forgotten version.
const forgottenBytes = 16

// maxParts bounds the parts of a text.
const maxParts = MaxBytes/engine.MaxDocumentBytes + 1

// pastName returns the name of the document with the Header of a past version.
func pastName(version uint64) string { return fmt.Sprintf("%s%010d", pastPrefix, version) }

// textName returns the name of a part of the text of a version.
func textName(version uint64, part int) string {
	return fmt.Sprintf("%s%010d/%03d", textPrefix, version, part)
}

// A Header describes a version of the rules.
type Header struct {
	Version uint64
	Loaded  engine.Instant
	SHA     [32]byte // SHA-256 of the text
	Bytes   int      // of the text
	Parts   int
	Rules   int // number of rules, and of nodes of trees
	// User and Note are for people. User sent the load.
	User, Note string
}

// ShortSHA returns the start of the SHA-256, for people.
func (h *Header) ShortSHA() string { return hex.EncodeToString(h.SHA[:6]) }

// headerFormat is the version of the form of a Header, and of the texts.
const headerFormat = 1

var (
	errHeader = errors.New("a description of rules that can not be")
	// errNewer means that rules are of a form that this program does not know.
	errNewer = errors.New("they were loaded by a newer version of limitsrv")
)

// appendTo appends the form of a Header in a document: the format, 1 byte; Version, Loaded, Bytes,
// Parts and Rules as unsigned varints; SHA; User and Note, each after its length.
func (h *Header) appendTo(dst []byte) []byte {
	dst = append(dst, headerFormat)
	for _, n := range []uint64{h.Version, uint64(h.Loaded), uint64(h.Bytes), uint64(h.Parts), uint64(h.Rules)} {
		dst = binary.AppendUvarint(dst, n)
	}
	dst = append(dst, h.SHA[:]...)
	return appendText(appendText(dst, h.User), h.Note)
}

// readHeader reads the form of a Header.
func readHeader(text string) (h Header, err error) {
	r := fieldReader{left: text}
	switch format := r.bytes(1); {
	case r.failed:
		return h, errHeader
	case format[0] != headerFormat:
		return h, errNewer
	}
	h.Version, h.Loaded = r.number(), engine.Instant(r.number())
	h.Bytes, h.Parts, h.Rules = int(r.number()), int(r.number()), int(r.number())
	copy(h.SHA[:], r.bytes(len(h.SHA)))
	h.User, h.Note = r.text(), r.text()
	if r.failed || r.left != "" || h.Version == 0 || h.Bytes > MaxBytes || h.Parts > maxParts {
		return Header{}, errHeader
	}
	return h, nil
}

// appendText appends a length and so many bytes.
func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// A fieldReader takes fields off a text. After an error all fields are empty.
type fieldReader struct {
	left   string
	failed bool
}

func (r *fieldReader) bytes(n int) string {
	if r.failed || n < 0 || n > len(r.left) {
		r.failed = true
		return ""
	}
	field := r.left[:n]
	r.left = r.left[n:]
	return field
}

func (r *fieldReader) number() uint64 {
	n, size := binary.Uvarint([]byte(r.left[:min(len(r.left), binary.MaxVarintLen64)]))
	if r.failed || size <= 0 || n > math.MaxInt64 {
		r.failed = true
		return 0
	}
	r.left = r.left[size:]
	return n
}

func (r *fieldReader) text() string { return r.bytes(int(r.number())) }

// A finder finds documents: a Tx, or Documents.
type finder interface {
	Document(space engine.Space, name string) *engine.Document
}

// header returns the Header of the rules in use, zero if there are no rules.
func header(ds finder) (Header, error) {
	if d := ds.Document(engine.Rules, headerName); d != nil {
		return readHeader(d.Text)
	}
	return Header{}, nil
}

// textOf returns the text of a version, or false if not all of it is kept.
func textOf(ds finder, h *Header) (string, bool) {
	var b strings.Builder
	b.Grow(h.Bytes)
	for part := range h.Parts {
		d := ds.Document(engine.Rules, textName(h.Version, part))
		if d == nil {
			return "", false
		}
		b.WriteString(d.Text)
	}
	return b.String(), b.Len() == h.Bytes
}

// withPrefix returns the documents with names that begin with prefix, in ascending order.
// Requires: names are ASCII.
func withPrefix(ds []*engine.Document, prefix string) []*engine.Document {
	from, to := search(ds, prefix), search(ds, prefix+"\xff")
	return ds[from:to]
}

// search returns the index of the first document with at least this name.
func search(ds []*engine.Document, name string) int {
	return sort.Search(len(ds), func(i int) bool { return ds[i].Name >= name })
}

// Documents are the documents of the space engine.Rules at the same moment, in the order of
// their names.
type Documents []*engine.Document

// Document returns the document with a name, or nil.
func (ds Documents) Document(_ engine.Space, name string) *engine.Document {
	if at := search(ds, name); at < len(ds) && ds[at].Name == name {
		return ds[at]
	}
	return nil
}

// Header returns the Header of the rules in use, zero if there are no rules.
func (ds Documents) Header() (Header, error) { return header(ds) }

// Text returns the text of the version that a [Header] describes, or false if not all of it is
// kept.
func (ds Documents) Text(h *Header) (string, bool) { return textOf(ds, h) }

// Knows reports whether the rules have, or had, a text with a SHA-256.
func (ds Documents) Knows(sha [32]byte) bool {
	if h, err := ds.Header(); err == nil && h.SHA == sha {
		return true
	}
	for _, d := range withPrefix(ds, pastPrefix) {
		if h, err := readHeader(d.Text); err == nil && h.SHA == sha {
			return true
		}
	}
	if d := ds.Document(engine.Rules, forgottenName); d != nil {
		for part := range slices.Chunk([]byte(d.Text), forgottenBytes) {
			if bytes.Equal(part, sha[:forgottenBytes]) {
				return true
			}
		}
	}
	return false
}
