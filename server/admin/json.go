package admin

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"limitsrv/commands"
)

// answer writes a value as JSON.
func reply(w http.ResponseWriter, value any) { writeJSON(w, http.StatusOK, value) }

// fail writes an error in the words of one who asked for something.
func replyError(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]string{"error": text})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("admin: %T is no JSON: %v", value, err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

// asked reads the JSON object of a POST. It writes the error itself if it is none.
func decodeBody(w http.ResponseWriter, r *http.Request, into any) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		replyError(w, http.StatusUnsupportedMediaType, "the body must be application/json")
		return false
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		tooLong := new(http.MaxBytesError)
		if errors.As(err, &tooLong) {
			replyError(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body may have %d bytes", tooLong.Limit))
			return false
		}
		replyError(w, http.StatusBadRequest, "the body is not the JSON object that is wanted") // err may quote a password
		return false
	}
	return true
}

// statuses are those of the error codes that have one of their own.
var statusByCode = map[string]int{
	"NOPERM": http.StatusForbidden, "NOAUTH": http.StatusUnauthorized, "WRONGPASS": http.StatusUnauthorized, "WRONGTYPE": http.StatusConflict,
	"LOADING": http.StatusServiceUnavailable, "CLUSTERDOWN": http.StatusServiceUnavailable, "OOM": http.StatusServiceUnavailable,
	"ERR": http.StatusBadRequest,
}

// failed writes the error of a command.
func (s *Server) replyCommandError(w http.ResponseWriter, err error) {
	var clientErr *commands.Error
	if !errors.As(err, &clientErr) {
		s.log.Error("a request of the admin listener failed", "error", err)
		replyError(w, http.StatusServiceUnavailable, clientText(err))
		return
	}
	status, ok := statusByCode[clientErr.Code]
	if !ok {
		status = http.StatusServiceUnavailable
	}
	replyError(w, status, clientText(err))
}

// textOf is what somebody may know of an error: all of one that is meant for clients.
func clientText(err error) string {
	var clientErr *commands.Error
	switch {
	case errors.As(err, &clientErr):
		return clientErr.Text
	case errors.Is(err, errNoLogin):
		return err.Error()
	}
	return "the server could not answer, its log says why"
}

// raw is the bytes of a key as text that goes into an address.
func encodeKey(key []byte) string { return base64.RawURLEncoding.EncodeToString(key) }

// rawKey reads raw.
func decodeKey(text string) ([]byte, error) {
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, &commands.Error{Code: "ERR", Text: "raw must be the bytes of a key in the URL-safe alphabet of base64"}
	}
	return key, nil
}

// shown is a key as valid UTF-8, with \xNN for bytes that are not, cut behind the
// character that reaches most bytes; 0: it is not cut.
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
