package word

import "strings"

// maxWordBytes bounds the mistyped words; longer words have no suggestion.
const maxWordBytes = 64

// maxTypo is the largest edit distance between a mistyped word and a suggestion.
const maxTypo = 3

// Nearest returns the choice that a mistyped word most probably means, in any case; empty:
// no choice is near enough.
func Nearest(word string, choices []string) string {
	if len(word) > maxWordBytes {
		return ""
	}
	nearest, least := "", maxTypo+1
	for _, choice := range choices {
		d := editDistance(strings.ToLower(word), strings.ToLower(choice))
		if d < least && 3*d <= len(choice) {
			nearest, least = choice, d
		}
	}
	return nearest
}

// DidYouMean is the suffix of an error about a word that suggests the nearest choice. It is empty if
// the word is a choice: the word is then at a wrong place.
func DidYouMean(word []byte, choices ...string) string {
	given := string(word[:min(len(word), maxWordBytes+1)])
	if nearest := Nearest(given, choices); nearest != "" && nearest != given {
		return "; did you mean " + nearest + "?"
	}
	return ""
}

// editDistance returns the number of bytes to insert, delete or replace to turn a into b.
// Source: Wagner and Fischer, The string-to-string correction problem, 1974.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, changed)
		}
	}
	return row[len(b)]
}
