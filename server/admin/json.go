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
func answer(w http.ResponseWriter, value any) { write(w, http.StatusOK, value) }

// fail writes an error in the words of one who asked for something.
func fail(w http.ResponseWriter, status int, text string) {
	write(w, status, map[string]string{"error": text})
}

func write(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("admin: %T is no JSON: %v", value, err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

// asked reads the JSON object of a POST. It writes the error itself if it is none.
func asked(w http.ResponseWriter, r *http.Request, into any) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		fail(w, http.StatusUnsupportedMediaType, "the body must be application/json")
		return false
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		tooLong := new(http.MaxBytesError)
		if errors.As(err, &tooLong) {
			fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body may have %d bytes", tooLong.Limit))
			return false
		}
		fail(w, http.StatusBadRequest, "the body is not the JSON object that is wanted") // err may quote a password
		return false
	}
	return true
}

// statuses are those of the error codes that have one of their own.
var statuses = map[string]int{
	"NOPERM": http.StatusForbidden, "NOAUTH": http.StatusUnauthorized, "WRONGPASS": http.StatusUnauthorized, "WRONGTYPE": http.StatusConflict,
	"LOADING": http.StatusServiceUnavailable, "CLUSTERDOWN": http.StatusServiceUnavailable, "OOM": http.StatusServiceUnavailable,
	"ERR": http.StatusBadRequest,
}

// failed writes the error of a command.
func (s *Server) failed(w http.ResponseWriter, err error) {
	var told *commands.Error
	if !errors.As(err, &told) {
		s.log.Error("a request of the admin listener failed", "error", err)
		fail(w, http.StatusServiceUnavailable, textOf(err))
		return
	}
	status, ok := statuses[told.Code]
	if !ok {
		status = http.StatusServiceUnavailable
	}
	fail(w, status, textOf(err))
}

// textOf is what somebody may know of an error: all of one that is meant for clients.
func textOf(err error) string {
	var told *commands.Error
	switch {
	case errors.As(err, &told):
		return told.Text
	case errors.Is(err, errNoLogin):
		return err.Error()
	}
	return "the server could not answer, its log says why"
}

// raw is the bytes of a key as text that goes into an address.
func raw(key []byte) string { return base64.RawURLEncoding.EncodeToString(key) }

// rawKey reads raw.
func rawKey(text string) ([]byte, error) {
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, &commands.Error{Code: "ERR", Text: "raw must be the bytes of a key in the URL-safe alphabet of base64"}
	}
	return key, nil
}

// shown is a key as valid UTF-8, with \xNN for bytes that are not, cut behind the
// character that reaches most bytes; 0: it is not cut.
func shown(key []byte, most int) string {
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
