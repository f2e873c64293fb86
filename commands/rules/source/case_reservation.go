package source

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"limitsrv/commands/limiters"
	"limitsrv/commands/weighing"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// caseForms are the words that a reservation in a step may have, by the word of the step. The first of them are
// required.
var caseForms = map[string]struct {
	words    []string
	required int
	example  string
}{
	wordReserve: {[]string{"id", "ttl", "keep", "partial"}, 2, "{id: r1, ttl: 30s}"},
	wordExtend:  {[]string{"id", "ttl", "by", "keep"}, 2, "{id: r1, ttl: 30s}"},
	wordCommit:  {[]string{"id", "actual"}, 2, "{id: r1, actual: 310}"},
	wordCancel:  {[]string{"id"}, 1, "{id: r1}"},
}

// maxActual bounds the numbers of a commit, a number for each limit of the reservation.
const maxActual = engine.MaxGroup

// caseReserve reads the word reserve of a step.
func (r *reader) caseReserve(n *yaml.Node) *CaseReserve {
	x, partial := r.caseReservation(n, wordReserve)
	return &CaseReserve{ID: x.ID, TTL: x.TTL, Keep: x.Keep, Partial: partial}
}

// caseSettlement reads the word extend, commit or cancel of a step.
func (r *reader) caseSettlement(n *yaml.Node, word string) *CaseSettlement {
	x, _ := r.caseReservation(n, word)
	return &x
}

// caseReservation reads a word of a step with a reservation. partial is of wordReserve.
func (r *reader) caseReservation(n *yaml.Node, name string) (x CaseSettlement, partial bool) {
	form, before := caseForms[name], len(r.mistakes)
	x.Word = name
	fields, mark, _ := r.words(n, name)
	defer r.release(mark)
	for _, f := range fields {
		if !slices.Contains(form.words, f.word) {
			r.unknown(f, name, form.words)
			continue
		}
		switch f.word {
		case "id":
			x.ID = r.caseID(f.value)
		case "ttl":
			x.TTL = r.caseTTL(f.value)
		case "by":
			x.By, _ = r.whole(f.value, "by", 0, engine.MaxN)
		case "keep":
			x.Keep = r.caseKeep(f.value)
		case "partial":
			partial = r.boolean(f.value, "partial")
		case "actual":
			x.Actual, x.Amounts = r.caseActual(f.value)
		}
	}
	required := form.words[:form.required]
	lacks := func(word string) bool { return r.find(word, mark) < 0 }
	if len(r.mistakes) == before && slices.ContainsFunc(required, lacks) {
		plural := ""
		if len(required) > 1 {
			plural = "s"
		}
		r.mistake(n, fmt.Sprintf("%s must have the word%s %s, as in %s", name, plural, strings.Join(required, " and "),
			form.example))
	}
	return x, partial
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

// caseActual reads a number, or a list with the number of each limit, or a mapping of named amounts.
func (r *reader) caseActual(n *yaml.Node) (all []int64, amounts []CaseAmount) {
	if n.Kind == yaml.MappingNode {
		return nil, r.caseAmounts(n)
	}
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
			return all, nil
		}
		k, _ := r.whole(v, "actual", 0, engine.MaxN)
		all = append(all, k)
	}
	return all, nil
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
