package resp

import (
	"regexp"
	"strconv"
	"strings"
)

// model is the reference model of the reader: it parses all of in from the start, with
// copies. It returns the commands before the first problem, and the problem.
func model(in string, lim *Limits, unauthenticated bool) (commands [][]string, problem string) {
	for in != "" {
		var command []string
		var rest string
		if in[0] == '*' {
			command, rest, problem = modelArray(in, lim, unauthenticated)
		} else {
			command, rest, problem = modelInline(in, lim)
		}
		if problem != "" || rest == in {
			return commands, problem
		}
		if len(command) > 0 {
			commands = append(commands, command)
		}
		in = rest
	}
	return commands, ""
}

// modelArray returns in itself as the rest if the command is incomplete.
func modelArray(in string, lim *Limits, unauthenticated bool) (command []string, rest, problem string) {
	count, rest, problem := modelNumber(in, lim, longArgCount, badArgCount)
	switch {
	case problem != "" || rest == in:
		return nil, in, problem
	case count > lim.Args:
		return nil, in, badArgCount
	case unauthenticated && count > 10:
		return nil, in, unauthArgCount
	}
	for range max(0, count) {
		if rest == "" {
			return nil, in, ""
		}
		if rest[0] != '$' {
			got := strings.NewReplacer("\r", " ", "\n", " ").Replace(rest[:1])
			return nil, in, "Protocol error: expected '$', got '" + got + "'"
		}
		n, after, problem := modelNumber(rest, lim, longArgLength, badArgLength)
		switch {
		case problem != "" || after == rest:
			return nil, in, problem
		case n < 0 || n > lim.ArgBytes:
			return nil, in, badArgLength
		case unauthenticated && n > 16384:
			return nil, in, unauthArgLength
		case len(in)-len(after)+n+2 > lim.QueryBytes:
			return nil, in, longQuery
		case len(after) < n+2:
			return nil, in, ""
		}
		command = append(command, after[:n])
		rest = after[n+2:]
	}
	return command, rest, ""
}

// modelNumber reads the number after the first byte of in. The rest is in itself if the
// line is incomplete.
func modelNumber(in string, lim *Limits, tooLong, bad string) (n int, rest, problem string) {
	line, _, found := strings.Cut(in, "\r")
	switch {
	case len(line) > lim.InlineBytes:
		return 0, in, tooLong
	case !found || len(in) < len(line)+2:
		return 0, in, ""
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || strconv.Itoa(n) != line[1:] {
		return 0, in, bad
	}
	return n, in[len(line)+2:], ""
}

func modelInline(in string, lim *Limits) (command []string, rest, problem string) {
	if len(in) > 1 && in[0] == 22 && in[1] == 3 {
		return nil, in, ProblemTLS
	}
	line, rest, found := strings.Cut(in, "\n")
	switch {
	case len(line) > lim.InlineBytes:
		return nil, in, longInline
	case !found:
		return nil, in, ""
	}
	line = strings.TrimSuffix(line, "\r")
	for {
		line = strings.TrimLeft(line, " \t\n\v\f\r")
		if line == "" {
			return command, rest, ""
		}
		word, after, ok := modelWord(line)
		if !ok {
			return nil, in, badQuotes
		}
		command = append(command, word)
		if len(command) > lim.Args {
			return nil, in, longInline
		}
		line = after
	}
}

var (
	modelPlain  = regexp.MustCompile(`^[^ \t\r\n"']*`)
	modelQuoted = regexp.MustCompile(`(?s)^"((?:\\.|[^"\\])*)"`)
	modelEscape = regexp.MustCompile(`(?s)\\x[0-9a-fA-F]{2}|\\.`)
	modelBlank  = regexp.MustCompile(`^([ \t\n\v\f\r]|$)`)
)

func modelWord(line string) (word, rest string, ok bool) {
	word = modelPlain.FindString(line)
	rest = line[len(word):]
	switch {
	case strings.HasPrefix(rest, `"`):
		m := modelQuoted.FindStringSubmatch(rest)
		if m == nil {
			return "", "", false
		}
		word += modelEscape.ReplaceAllStringFunc(m[1], modelUnescape)
		rest = rest[len(m[0]):]
	case strings.HasPrefix(rest, `'`):
		end := strings.Index(strings.ReplaceAll(rest[1:], `\'`, `__`), `'`)
		if end < 0 {
			return "", "", false
		}
		word += strings.ReplaceAll(rest[1:1+end], `\'`, `'`)
		rest = rest[end+2:]
	default:
		return word, rest, true
	}
	return word, rest, modelBlank.MatchString(rest)
}

func modelUnescape(s string) string {
	if len(s) == 4 && s[1] == 'x' {
		n, _ := strconv.ParseUint(s[2:], 16, 8)
		return string([]byte{byte(n)})
	}
	s = s[1:]
	if i := strings.Index("nrtba", s); i >= 0 {
		return "\n\r\t\b\a"[i : i+1]
	}
	return s
}
