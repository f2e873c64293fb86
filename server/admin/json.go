package admin

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"limitsrv/commands/resp"
	"limitsrv/internal/strictjson"
)

// reply writes a value as JSON.
func reply(w http.ResponseWriter, value any) { writeJSON(w, http.StatusOK, value) }

// replyError writes an error as JSON.
func replyError(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]string{"error": text})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("admin: encode %T as JSON: %v", value, err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

// decodeBody reads the JSON object of a POST. If it is invalid it writes the error and
// returns false.
func decodeBody(w http.ResponseWriter, r *http.Request, into any) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		replyError(w, http.StatusUnsupportedMediaType, "the body must be application/json")
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = strictjson.Decode(body, into)
	}
	if err != nil {
		tooLong := new(http.MaxBytesError)
		if errors.As(err, &tooLong) {
			replyError(w, http.StatusRequestEntityTooLarge,
				fmt.Sprintf("the body must be at most %d bytes, got more", tooLong.Limit))
			return false
		}
		replyError(w, http.StatusBadRequest, "the body is not the expected JSON object") // err may quote a password
		return false
	}
	return true
}

// clientText returns the text of an error if it is meant for clients, and otherwise a
// general text.
func clientText(err error) string {
	if clientErr := new(resp.Error); errors.As(err, &clientErr) {
		return clientErr.Text
	}
	return "the server could not answer, see its log"
}

// encodeKey encodes the bytes of a key for an address.
func encodeKey(key []byte) string { return base64.RawURLEncoding.EncodeToString(key) }

// decodeKey is the inverse of encodeKey.
func decodeKey(text string) ([]byte, error) {
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, resp.NewError("ERR", "raw must be the bytes of a key in the URL-safe alphabet of base64")
	}
	return key, nil
}

// printable returns a key as valid UTF-8, with \xNN for other bytes, cut at a character
// to at most most bytes; 0: not cut.
func printable(key []byte, most int) string {
	var text strings.Builder
	for len(key) > 0 {
		r, n := utf8.DecodeRune(key)
		piece := string(key[:n])
		if r == utf8.RuneError && n == 1 {
			piece = fmt.Sprintf(`\x%02x`, key[0])
		}
		if most > 0 && text.Len()+len(piece) > most {
			break
		}
		text.WriteString(piece)
		key = key[n:]
	}
	return text.String()
}
