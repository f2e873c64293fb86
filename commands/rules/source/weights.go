package source

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"limitsrv/commands/limiters"
	"limitsrv/commands/weighing"
	"limitsrv/commands/word"
)

// A Weight says how much of a limit a unit of a named amount takes.
type Weight struct {
	Name       string // as weighing.IsName wants it
	Millionths int64  // 0 to weighing.Million * weighing.MaxWeight
}

// maxDecimals bounds the decimals of a weight.
const maxDecimals = 6

// appendTo appends a weight as rule files have it: in=2.5.
func (w *Weight) appendTo(dst []byte) []byte {
	dst = strconv.AppendInt(append(append(dst, w.Name...), '='), w.Millionths/weighing.Million, 10)
	if decimals := w.Millionths % weighing.Million; decimals != 0 {
		digits := strconv.FormatInt(weighing.Million+decimals, 10)[1:]
		dst = append(append(dst, '.'), strings.TrimRight(digits, "0")...)
	}
	return dst
}

// AppendWeights appends weights in the form of a limit in a line: in=2.5 out=10.
func AppendWeights(dst []byte, all []Weight) []byte {
	for i := range all {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = all[i].appendTo(dst)
	}
	return dst
}

// weightForm is the form of a weight, for mistakes.
var weightForm = fmt.Sprintf("a number from 0 to %d with at most six decimals, such as 2.50", int64(weighing.MaxWeight))

// parseWeight parses a weight into millionths.
func parseWeight(text string) (millionths int64, ok bool) {
	whole, decimals, point := strings.Cut(text, ".")
	n, ok := limiters.ParseWhole([]byte(whole))
	if !ok || n > weighing.MaxWeight || point && decimals == "" || len(decimals) > maxDecimals {
		return 0, false
	}
	fraction, err := strconv.ParseUint((decimals + "000000")[:maxDecimals], 10, 32)
	millionths = n*weighing.Million + int64(fraction)
	return millionths, err == nil && millionths <= weighing.MaxWeight*weighing.Million
}

// addWeight adds a weight to the weights of a limit, which it keeps in the order of their names. It
// returns a mistake if the limit has a weight of that name, or the most weights.
func (d *draft) addWeight(w Weight) error {
	at, twice := slices.BinarySearchFunc(d.weights, w.Name, func(o Weight, name string) int {
		return cmp.Compare(o.Name, name)
	})
	switch {
	case twice:
		return fmt.Errorf("weights must have each amount once, got %s twice", w.Name)
	case len(d.weights) == weighing.MostNames:
		return fmt.Errorf("weights may have %d amounts, got more", weighing.MostNames)
	}
	d.weights = slices.Insert(d.weights, at, w)
	return nil
}

// weighing parses the weights of a limit in a line, NAME=WEIGHT each, and returns the remaining words.
func (d *draft) weighing(words []string) (rest []string, err error) {
	for len(words) > 0 {
		name, text, found := strings.Cut(words[0], "=")
		if !found {
			break
		}
		millionths, ok := parseWeight(text)
		switch {
		case !weighing.IsName(name):
			return nil, fmt.Errorf("the name of an amount must be %s, got %s", weighing.NameForm, word.Excerpt([]byte(name)))
		case !ok:
			return nil, fmt.Errorf("the weight of %s must be %s, got %s", name, weightForm, word.Excerpt([]byte(text)))
		}
		if err := d.addWeight(Weight{name, millionths}); err != nil {
			return nil, err
		}
		words = words[1:]
	}
	if len(d.weights) == 0 {
		return nil, errors.New("weights must be NAME=WEIGHT, such as weights in=2.50 out=10, got none")
	}
	return words, nil
}

// weights reads the weights of a limit that is a mapping.
func (r *reader) weights(d *draft, n *yaml.Node) {
	fields, mark, ok := r.words(n, "weights")
	defer r.release(mark)
	if !ok {
		return
	}
	if len(fields) == 0 {
		r.bad(n, "weights", "a mapping of amounts to weights, such as {in: 2.50, out: 10}")
	}
	for _, f := range fields {
		millionths, ok := int64(0), false
		if f.value.Kind == yaml.ScalarNode && (f.value.Tag == "!!int" || f.value.Tag == "!!float") {
			millionths, ok = parseWeight(f.value.Value)
		}
		switch {
		case !weighing.IsName(f.word):
			r.bad(f.key, "the name of an amount", weighing.NameForm)
		case !ok:
			r.bad(f.value, "the weight of "+f.word, weightForm)
		default:
			if err := d.addWeight(Weight{f.word, millionths}); err != nil {
				r.mistake(f.key, err.Error())
				return
			}
		}
	}
}
