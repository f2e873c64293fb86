package datatypes

import (
	"bytes"
	"fmt"
	"strings"
)

// collectionOptions draw the options of commands on collections.
var collectionOptions = map[string]func(r lineSource) []string{
	"HRANDFIELD": func(r lineSource) []string {
		return pickOne(r, []string{}, []string{"count"}, []string{"count", "'WITHVALUES"}, []string{"count", "'bad"}, []string{"count", "'WITHVALUES", "'bad"})
	},
	"HSCAN": scanWords,
}

func scanWords(r lineSource) []string {
	var words []string
	for range r.IntN(3) {
		words = append(words, pickOne(r, []string{"'MATCH", "pattern"}, []string{"'COUNT", "count"}, []string{"'count", "count"}, []string{"'bad"})...)
	}
	return words
}

// optionsOf draws the options of a command: names of words, or words after a quote.
func (r lineSource) optionsOf(c *Command) (words [][]byte) {
	for _, word := range collectionOptions[c.Name](r) {
		if literal, is := strings.CutPrefix(word, "'"); is {
			words = append(words, []byte(literal))
		} else {
			words = append(words, r.word(word))
		}
	}
	return words
}

// collectionWord draws an argument of a command on collections, or nil.
func (r lineSource) collectionWord(name string) []byte {
	switch name {
	case "field", "member":
		switch r.IntN(30) {
		case 0:
			return bytes.Repeat([]byte{byte('a' + r.IntN(4))}, pickOne(r, 64, 65, 300))
		case 1:
			return []byte(pickOne(r, "", "007", "-0", "9223372036854775807", "-9223372036854775808", "a\r\nb", "\x00\xff"))
		case 2, 3:
			return fmt.Append(nil, r.IntN(400))
		case 4, 5, 6:
			return fmt.Append(nil, "m", r.IntN(200))
		}
		return fmt.Append(nil, pickOne(r, "m", ""), r.IntN(20))
	case "count":
		return []byte(pickOne(r, "1", "2", "3", "5", "100", "0", "-1", "-2", "-10", "x", "1.5", "9223372036854775807", "-9223372036854775807", "-9223372036854775808", "5000000000000000000"))
	case "cursor":
		return []byte(pickOne(r, "0", "0", "0", "0", "5", "x", "-1", "", "99999999999999999999", "1x"))
	case "pattern":
		return []byte(pickOne(r, "*", "m*", "*1*", "[a-c]*", "m?", ""))
	}
	return nil
}

// doAs returns the reply of the judge to a line, or to what has the same effect if the
// effect of the line is random: ours was got.
func (r *redis) doAs(line [][]byte, got []byte) []byte {
	name := strings.ToUpper(string(line[0]))
	ours, _ := parseReply(got)
	switch {
	case name == "SPOP" && ours.head[0] == '$' && ours.head != "$-1":
		if string(r.do([][]byte{[]byte("SREM"), line[1], []byte(ours.text)})) == ":1\r\n" {
			return got
		}
	case name == "SPOP" && len(ours.all) > 0:
		remove := [][]byte{[]byte("SREM"), line[1]}
		for i := range ours.all {
			remove = append(remove, []byte(ours.all[i].text))
		}
		if string(r.do(remove)) == fmt.Sprintf(":%d\r\n", len(ours.all)) {
			return got
		}
	case random[name] && len(line) > 2 && (string(line[2]) == "-9223372036854775807" || string(line[2]) == "-5000000000000000000"):
		return got // the judge would never answer
	}
	return r.do(line)
}
