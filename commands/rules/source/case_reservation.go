package source

import (
	"fmt"
	"math"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"limitsrv/commands/limiters"
	"limitsrv/commands/weighing"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// The words of a reservation in a step.
var (
	caseReserveWords = []string{"id", "ttl", "keep", "partial"}
	caseExtendWords  = []string{"id", "ttl", "by", "keep"}
	caseCommitWords  = []string{"id", "actual"}
	caseCancelWords  = []string{"id"}
)

// maxActual bounds the numbers of a commit, a number for each limit of the reservation.
const maxActual = engine.MaxGroup

// caseReserve reads the word reserve of a step.
func (r *reader) caseReserve(n *yaml.Node) *CaseReserve {
	x := &CaseReserve{}
	ok := r.reservation(n, "reserve", caseReserveWords, func(f field) {
		switch f.word {
		case "id":
			x.ID = r.caseID(f.value)
		case "ttl":
			x.TTL = r.caseTTL(f.value)
		case "keep":
			x.Keep = r.caseKeep(f.value)
		case "partial":
			x.Partial = r.boolean(f.value, "partial")
		}
	})
	if ok && (x.ID == "" || x.TTL == 0) {
		r.mistake(n, "reserve must have the words id and ttl, as in {id: r1, ttl: 30s}")
	}
	return x
}

// caseSettlement reads the word extend, commit or cancel of a step.
func (r *reader) caseSettlement(n *yaml.Node, word string) *CaseSettlement {
	x := &CaseSettlement{Word: word}
	allowed := map[string][]string{wordExtend: caseExtendWords, wordCommit: caseCommitWords,
		wordCancel: caseCancelWords}[word]
	ok := r.reservation(n, word, allowed, func(f field) {
		switch f.word {
		case "id":
			x.ID = r.caseID(f.value)
		case "ttl":
			x.TTL = r.caseTTL(f.value)
		case "by":
			x.By, _ = r.whole(f.value, "by", 0, engine.MaxN)
		case "keep":
			x.Keep = r.caseKeep(f.value)
		case "actual":
			if f.value.Kind == yaml.MappingNode {
				x.Amounts = r.caseAmounts(f.value)
				break
			}
			x.Actual = r.caseActual(f.value)
		}
	})
	switch {
	case !ok:
	case word == wordExtend && (x.ID == "" || x.TTL == 0):
		r.mistake(n, "extend must have the words id and ttl, as in {id: r1, ttl: 30s}")
	case word == wordCommit && (x.ID == "" || len(x.Actual) == 0 && x.Amounts == nil):
		r.mistake(n, "commit must have the words id and actual, as in {id: r1, actual: 310}")
	case word == wordCancel && x.ID == "":
		r.mistake(n, "cancel must have the word id, as in {id: r1}")
	}
	return x
}

// reservation calls read for each allowed word of a mapping. ok is false if the mapping has a mistake.
func (r *reader) reservation(n *yaml.Node, name string, allowed []string, read func(f field)) (ok bool) {
	before := len(r.mistakes)
	fields, mark, _ := r.words(n, name)
	defer r.release(mark)
	for _, f := range fields {
		if slices.Contains(allowed, f.word) {
			read(f)
		} else {
			r.unknown(f, name, allowed)
		}
	}
	return len(r.mistakes) == before
}

func (r *reader) caseID(n *yaml.Node) string {
	id, _ := r.text(n, "id")
	if err := limiters.ParseID([]byte(id)); err != nil {
		r.bad(n, "id", fmt.Sprintf("1 to %d bytes long", engine.MaxIDBytes))
	}
	return id
}

func (r *reader) caseTTL(n *yaml.Node) time.Duration {
	nanos, _ := r.duration(n, "ttl")
	return time.Duration(nanos)
}

// caseKeep reads a number of tokens, or the word all.
func (r *reader) caseKeep(n *yaml.Node) CaseKeep {
	if n.Kind == yaml.ScalarNode && n.Value == "all" {
		return CaseKeep{Given: true, All: true}
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" {
		r.bad(n, "keep", fmt.Sprintf("all or a whole number from 0 to %d", int64(engine.MaxN)))
		return CaseKeep{}
	}
	k, _ := r.whole(n, "keep", 0, engine.MaxN)
	return CaseKeep{Given: true, N: k}
}

// caseActual reads a number, or a list with the number of each limit.
func (r *reader) caseActual(n *yaml.Node) (all []int64) {
	values := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		values = n.Content
	}
	if len(values) == 0 || len(values) > maxActual {
		r.mistake(n, fmt.Sprintf("actual must be a number or a list of 1 to %d numbers, got a list of %d", maxActual,
			len(values)))
	}
	for _, v := range values {
		if v = r.follow(v); v == nil {
			return all
		}
		k, _ := r.whole(v, "actual", 0, engine.MaxN)
		all = append(all, k)
	}
	return all
}

// caseAmounts reads the named amounts of a commit.
func (r *reader) caseAmounts(n *yaml.Node) []CaseAmount {
	all := r.amounts(n, "actual", 0)
	if len(all) > weighing.MostNames {
		r.mistake(n, fmt.Sprintf("actual may have %d amounts, got %d", weighing.MostNames, len(all)))
	}
	for _, a := range all {
		if !weighing.IsName(a.Name) {
			r.mistake(n, fmt.Sprintf("the name of an amount must be %s, got %s", weighing.NameForm,
				word.Excerpt([]byte(a.Name))))
		}
	}
	return all
}

// answersTo reports whether a field is in the answer to a step.
func (f Field) answersTo(s *Step) bool {
	switch {
	case f == FieldError:
		return true
	case s.Override != nil:
		return false
	case s.Settlement != nil:
		return f == FieldDone || f == FieldState || f == FieldN || f == FieldWait
	}
	return f != FieldDone && f != FieldState && f != FieldN
}

// bounds returns the least and the most of a field that is a whole number.
func (f Field) bounds(s *Step) (least, most int64) {
	switch {
	case f == FieldAllowed && s.Reserve != nil && s.Reserve.Partial: // the number granted
		return 0, engine.MaxN
	case f == FieldAllowed, f == FieldDone:
		return 0, 1
	}
	return -1, math.MaxInt64
}
