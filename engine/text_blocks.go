package engine

import (
	"encoding/binary"
	"errors"
)

// A blockText stands in the blocks of a snapshot before the records of shard 0: a Source or a
// Document.
type blockText interface {
	appendTo(dst []byte) []byte
}

// A document stands in a block in place of a record: documentMark, its space, 1 byte, its
// version, the time of its setting, the length of its name, the name, the length of its text,
// the text. Without a name it has the version of its space, and neither time nor text. A
// record can not begin with the mark.
const documentMark = "\x00\x3e"

// A blockDocument is a document in a block, or the version of a space.
type blockDocument struct {
	space      Space
	version    uint64
	set        Instant
	name, text []byte
}

func (d *Document) appendTo(dst []byte) []byte {
	dst = append(append(dst, documentMark...), byte(d.Space))
	dst = binary.AppendUvarint(dst, d.Version)
	dst = binary.AppendUvarint(dst, uint64(d.Set))
	dst = binary.AppendUvarint(dst, uint64(len(d.Name)))
	dst = append(dst, d.Name...)
	dst = binary.AppendUvarint(dst, uint64(len(d.Text)))
	return append(dst, d.Text...)
}

var errImpossibleDocument = errors.New("a document that can not be")

// readDocument reads a document after its mark.
func (r *blockReader) readDocument(data []byte) (rest []byte, err error) {
	head, data, ok := takeBytes(data, 1)
	if !ok {
		return nil, errTruncated
	}
	d := blockDocument{space: Space(head[0])}
	if d.version, data, ok = takeNumber(data, maxChange); !ok {
		return nil, errTruncated
	}
	set, data, ok := takeNumber(data, uint64(r.now))
	if !ok {
		return nil, errTruncated
	}
	d.set = Instant(set)
	if d.name, data, ok = takeText(data, MaxDocumentName); !ok {
		return nil, errTruncated
	}
	if d.text, data, ok = takeText(data, MaxDocumentBytes); !ok {
		return nil, errTruncated
	}
	nameless := len(d.name) == 0 && (d.set != 0 || len(d.text) > 0)
	if r.version < blockTexts || d.space >= spaces || d.version == 0 || nameless {
		return nil, errImpossibleDocument
	}
	r.documents = append(r.documents, d)
	return data, nil
}

// takeText takes a length of at most a bound, and so many bytes.
func takeText(data []byte, most uint64) (text, rest []byte, ok bool) {
	n, data, ok := takeNumber(data, most)
	if !ok {
		return nil, nil, false
	}
	return takeBytes(data, int(n))
}

// A source stands in a block in place of a record: sourceMark, twice its order plus 1 if it
// is flushed, the length of its text, the text. A record can not begin with the mark.
const sourceMark = "\x00\x3f"

// A blockSource is a source in a block.
type blockSource struct {
	order   uint64
	flushed bool
	text    []byte
}

func (s *Source) appendTo(dst []byte) []byte {
	order := 2 * s.order
	if s.flushed {
		order++
	}
	dst = binary.AppendUvarint(append(dst, sourceMark...), order)
	dst = binary.AppendUvarint(dst, uint64(len(s.Text)))
	return append(dst, s.Text...)
}

// readSource reads a source after its mark.
func (r *blockReader) readSource(data []byte) (rest []byte, err error) {
	order, data, ok := takeNumber(data, maxChange)
	if !ok {
		return nil, errTruncated
	}
	n, data, ok := takeNumber(data, MaxSourceBytes)
	if !ok {
		return nil, errTruncated
	}
	text, rest, ok := takeBytes(data, int(n))
	switch {
	case !ok:
		return nil, errTruncated
	case r.version == blockLimits || n == 0 || order < 2:
		return nil, errors.New("a source that can not be")
	}
	r.sources = append(r.sources, blockSource{order / 2, order%2 == 1, text})
	return rest, nil
}
