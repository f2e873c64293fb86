package resp

// splitWords finds the words of an inline command, at most maxWords+1, and appends the
// span of each within the line to words. Quotes and escapes are undone in place. It
// returns false if a quote is not closed or is followed by something other than a blank.
//
// The rules are the rules of Redis' sdssplitargs: "..." accepts \n \r \t \b \a \xHH, and
// any other escaped byte is itself; '...' accepts \' only; a quote may open inside a word.
// More kinds of blanks are skipped between words than end a word.
func splitWords(line []byte, words []span, maxWords int) (found []span, ok bool) {
	words = words[:0]
	for i := 0; len(words) <= maxWords; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			break
		}
		var w span
		if w, i, ok = splitWord(line, i); !ok {
			return words, false
		}
		words = append(words, w)
	}
	return words, true
}

// splitWord unquotes the word that begins at i. It returns the word's span and the position
// where the line continues. The unquoted word is never longer than the quoted word.
func splitWord(line []byte, i int) (w span, next int, ok bool) {
	out := i
	w.from = int32(i)
	for i < len(line) && !endsWord(line[i]) {
		quote := line[i]
		if quote != '"' && quote != '\'' {
			line[out] = quote
			out++
			i++
			continue
		}
		for i++; ; i++ {
			if i == len(line) {
				return w, i, false
			}
			if line[i] == quote {
				i++
				w.to = int32(out)
				return w, i, i == len(line) || isSpace(line[i])
			}
			var c byte
			c, i = unescape(line, i, quote)
			line[out] = c
			out++
		}
	}
	w.to = int32(out)
	return w, i, true
}

// unescape returns the byte at i inside quotes, and the last position of its escape
// sequence.
func unescape(line []byte, i int, quote byte) (c byte, last int) {
	if line[i] != '\\' || i+1 == len(line) {
		return line[i], i
	}
	c = line[i+1]
	if quote == '\'' {
		if c == '\'' {
			return c, i + 1
		}
		return '\\', i
	}
	switch c {
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'b':
		c = '\b'
	case 'a':
		c = '\a'
	case 'x':
		if i+3 < len(line) && isHex(line[i+2]) && isHex(line[i+3]) {
			return hexValue(line[i+2])<<4 | hexValue(line[i+3]), i + 3
		}
	}
	return c, i + 1
}

// isSpace is C's isspace.
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// endsWord reports whether c ends an unquoted word.
func endsWord(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// hexValue returns the value of a hexadecimal digit. Requires: isHex(c).
func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
