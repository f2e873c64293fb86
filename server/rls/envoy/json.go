package envoy

import (
	"encoding/json"
	"strconv"
	"strings"

	"limitsrv/commands/rules/checks"
	"limitsrv/internal/strictjson"
)

// DecodeStrict is strictjson.Decode with an error for the client, an *resp.Error.
func DecodeStrict(message []byte, into any) error {
	if err := strictjson.Decode(message, into); err != nil {
		return invalid("the body: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// The messages of a response in the JSON form of protobuf, which omits defaults.
type (
	jsonResponse struct {
		Code     string         `json:"overallCode"`
		Statuses []jsonStatus   `json:"statuses,omitempty"`
		Headers  []jsonHeader   `json:"responseHeadersToAdd,omitempty"`
		Metadata map[string]any `json:"dynamicMetadata,omitempty"`
	}
	jsonStatus struct {
		Code      string            `json:"code"`
		Limit     *jsonCurrentLimit `json:"currentLimit,omitempty"`
		Remaining uint32            `json:"limitRemaining,omitempty"`
		Reset     string            `json:"durationUntilReset,omitempty"`
	}
	jsonCurrentLimit struct {
		Name     string `json:"name,omitempty"`
		Requests uint32 `json:"requestsPerUnit,omitempty"`
		Unit     string `json:"unit,omitempty"`
		Units    uint32 `json:"unitMultiplier,omitempty"`
	}
	jsonHeader struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
)

// AppendJSON appends the RateLimitResponse to a request in the JSON form of protobuf.
func (w *Writer) AppendJSON(dst []byte, q *checks.Request, a *checks.Answer) []byte {
	w.prepare(a)
	out := jsonResponse{Code: codeNames[codeOf(a.Allowed)]}
	for i := range w.statuses {
		out.Statuses = append(out.Statuses, w.statuses[i].json())
	}
	for _, h := range w.headers.List {
		out.Headers = append(out.Headers, jsonHeader{h.Name, string(h.Value)})
	}
	if w.Metadata {
		out.Metadata = jsonValue(metadata(q, a)).(map[string]any)
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic("envoy: encode a response as JSON: " + err.Error())
	}
	return append(dst, b...)
}

func (s *status) json() jsonStatus {
	out := jsonStatus{Code: codeNames[s.code], Remaining: s.remaining}
	if s.limit != nil {
		out.Limit = &jsonCurrentLimit{Requests: s.count, Units: s.units}
		if s.unit > 0 {
			out.Limit.Unit = units[s.unit].name
		}
		if s.unit == 0 || s.limit.Given != "" {
			out.Limit.Name = string(s.appendName(nil))
		}
	}
	if s.reset > 0 {
		out.Reset = strconv.FormatInt(s.reset, 10) + "s"
	}
	return out
}
