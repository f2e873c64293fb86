package datatypes

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"limitsrv/commands/spec"
)

// collectionOptions draw the options of commands on collections.
var collectionOptions = map[string]func(r lineSource) []string{
	"HRANDFIELD": func(r lineSource) []string {
		return pickOne(r, []string{}, []string{"count"}, []string{"count", "'WITHVALUES"}, []string{"count", "'bad"},
			[]string{"count", "'WITHVALUES", "'bad"})
	},
	"ZPOPMIN": countWords, "ZPOPMAX": countWords, "LPOP": countWords, "RPOP": countWords, "SPOP": countWords,
	"SRANDMEMBER": countWords,
	"LPOS": func(r lineSource) (words []string) {
		for range r.IntN(4) {
			words = append(words, pickOne(r, []string{"'RANK", "rank"}, []string{"'COUNT", "count"},
				[]string{"'maxlen", "count"}, []string{"'bad"}, []string{"'bad", "count"})...)
		}
		return words
	},
	"HSCAN": scanWords, "ZSCAN": scanWords, "SSCAN": scanWords,
	"ZADD": func(r lineSource) (words []string) {
		for range 1 + r.IntN(pickOne(r, 3, 3, 3, 3, 3, 10, 200)) {
			words = append(words, "score", "member")
		}
		return words
	},
	"ZRANK":    func(lineSource) []string { return nil },
	"ZREVRANK": func(lineSource) []string { return nil },
	"ZRANDMEMBER": func(r lineSource) []string {
		return pickOne(r, []string{}, []string{"count"}, []string{"count", "'WITHSCORES"}, []string{"count", "'bad"})
	},
	"SINTERCARD": func(r lineSource) []string {
		words := pickOne(r, []string{}, []string{"key"}, []string{"key"}, []string{"key", "key"})
		return append(words, pickOne(r, []string{}, []string{"'LIMIT", "count"}, []string{"'limit", "count"},
			[]string{"'LIMIT"}, []string{"'bad", "count"})...)
	},
	"ZRANGE": rangeWords, "ZREVRANGE": rangeWords, "ZRANGEBYSCORE": rangeWords, "ZREVRANGEBYSCORE": rangeWords,
	"ZRANGEBYLEX": rangeWords, "ZREVRANGEBYLEX": rangeWords, "ZRANGESTORE": rangeWords,
}

// rangeWords draws options of ranges.
func rangeWords(r lineSource) (words []string) {
	for range r.IntN(3) {
		words = append(words, pickOne(r, []string{"'WITHSCORES"}, []string{"'LIMIT", "offset", "offset"},
			[]string{"'limit", "offset", "offset"}, []string{"'REV"}, []string{"'rev"}, []string{"'bad"})...)
	}
	return words
}

// sortedLine makes a command line of sorted sets, with options of ZADD in front of the
// members, and bounds of the right kind. Ranges of members are only of keys with equal
// scores: ranges of other keys have no meaning.
func (r lineSource) sortedLine(c *spec.Command, line [][]byte) [][]byte {
	name := c.Name
	if name == "ZADD" {
		var options [][]byte
		for range r.IntN(3) {
			options = append(options, []byte(pickOne(r, "NX", "XX", "GT", "LT", "CH", "INCR", "xx", "ch")))
		}
		line = slices.Concat(line[:2], options, line[4:])
	}
	if name == "ZINCRBY" {
		line[2] = r.word("score")
	}
	first := 2
	if name == "ZRANGESTORE" {
		first = 3
	}
	kind := "score-bound"
	switch {
	case strings.Contains(name, "LEX"):
		kind = "lex-bound"
	case name == "ZRANGE" || name == "ZRANGESTORE":
		if kind = pickOne(r, "score-bound", "lex-bound", "start"); kind != "start" {
			line = append(line, []byte(map[string]string{"score-bound": "BYSCORE", "lex-bound": "byLEX"}[kind]))
		}
	case name == "ZREVRANGE" || name == "ZREMRANGEBYRANK":
		kind = "start"
	case !strings.Contains(name, "RANGE") && name != "ZCOUNT":
		return line
	}
	line[first], line[first+1] = r.word(kind), r.word(kind)
	if kind == "lex-bound" {
		line[first-1] = []byte("lex")
	}
	return line
}

func countWords(r lineSource) []string {
	return pickOne(r, []string{}, []string{"count"}, []string{"count"}, []string{"count", "count"})
}

func scanWords(r lineSource) []string {
	var words []string
	for range r.IntN(3) {
		words = append(words, pickOne(r, []string{"'MATCH", "pattern"}, []string{"'COUNT", "count"},
			[]string{"'count", "count"}, []string{"'bad"})...)
	}
	return words
}

// optionsOf draws the options of a command: names of words, or words after a quote.
func (r lineSource) optionsOf(c *spec.Command) (words [][]byte) {
	for _, word := range collectionOptions[c.Name](r) {
		if literal, is := strings.CutPrefix(word, "'"); is {
			words = append(words, []byte(literal))
		} else {
			words = append(words, r.word(word))
		}
	}
	return words
}

// collectionWord draws an argument of a command on collections, or nil. Of scores, -0 is left
// out: 7.2 stores it as 0 in fewer cases. So are those without a short exact form: before 7.2
// they were shown with 17 digits.
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
	case "element", "pivot":
		if r.IntN(4) > 0 {
			return r.collectionWord("member")
		}
		return r.word("value")
	case "BEFORE|AFTER":
		return []byte(pickOne(r, "BEFORE", "AFTER", "before", "After", "x"))
	case "LEFT|RIGHT":
		return []byte(pickOne(r, "LEFT", "RIGHT", "left", "Right", "LEFT", "RIGHT", "x"))
	case "index":
		return r.word("start")
	case "count":
		return []byte(pickOne(r, "1", "2", "3", "5", "100", "0", "-1", "-2", "-10", "x", "1.5", "9223372036854775807",
			"-9223372036854775807", "-9223372036854775808", "5000000000000000000"))
	case "numkeys":
		return []byte(pickOne(r, "1", "2", "2", "2", "3", "0", "-1", "4", "x", "9223372036854775807"))
	case "score":
		return []byte(pickOne(r, "0", "1", "2", "3", "-1", "1.5", "-0.25", "1e3", "17", "1099511627776", "inf", "-inf",
			"+inf", "nan", "x", "0x10", " 1"))
	case "score-bound":
		return []byte(pickOne(r, "0", "1", "2", "(1", "(0", "-inf", "+inf", "(inf", "1.5", "17", "x", "(", "-1", "1000",
			"nan"))
	case "lex-bound":
		return []byte(pickOne(r, "-", "+", "[m1", "(m1", "[m5", "(m3", "[", "(", "m", "[\x00", "[zz", "", "--"))
	case "rank": // the least integer is out of range since 7.2
		return []byte(pickOne(r, "1", "2", "-1", "-2", "0", "100", "x", "9223372036854775807", "-9223372036854775807"))
	case "cursor":
		return []byte(pickOne(r, "0", "0", "0", "0", "5", "x", "-1", "", "99999999999999999999", "1x"))
	case "pattern":
		return []byte(pickOne(r, "*", "m*", "*1*", "[a-c]*", "m?", ""))
	}
	return nil
}

// doAs returns the reply of the judge to a line. If the effect of the line is random, the
// judge gets a line with the effect of our reply, got.
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
	case name == "BLPOP" || name == "BRPOP":
		return r.atOnce(line)
	case random[name] && len(line) > 2 &&
		(string(line[2]) == "-9223372036854775807" || string(line[2]) == "-5000000000000000000"):
		return got // the judge would never answer
	}
	return r.do(line)
}

// atOnce returns the reply to a line in a transaction, where it does not wait.
func (r *redis) atOnce(line [][]byte) []byte {
	r.do([][]byte{[]byte("MULTI")})
	if queued := r.do(line); queued[0] == '-' {
		r.do([][]byte{[]byte("DISCARD")})
		return queued
	}
	return bytes.TrimPrefix(r.do([][]byte{[]byte("EXEC")}), []byte("*1\r\n"))
}
