package live

import (
	"testing"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/source"
)

// TestPrepareAsCheck: files are rules for a server if limitsrv rules check accepts them, one by one or
// together.
func TestPrepareAsCheck(t *testing.T) {
	good := "domain: api\nrules: [{name: r, per: [ip], limits: 5/minute}]\n"
	for _, texts := range [][]string{
		{good}, {""}, {"# none\n"}, {good, ""}, {"", good}, {"# none", good}, {"", "# none\n"}, {"---\n", good},
		{good, "---\n"},
		{good, "domain: web\n...\n"}, {"domain: web\n...\n", good}, {good, good}, {good, "domain: [\n"},
		{"domain: web\nrules: [\n", "]\n"}, {"%YAML 1.1\n---\ndomain: web\n", good},
		{good, "%YAML 1.1\n---\ndomain: web\n"}, {good, "\ufeffdomain: web\n"}, {"\ufeff", good}, {"domain: web", good},
		{"domain: web\nlists: {l: &x {key: a, values: [b]}}\ndeny: [l]\n", "domain: z\nlists: {l: *x}\ndeny: [l]\n"},
	} {
		var files []source.File
		for i, text := range texts {
			files = append(files, source.File{Name: string(rune('a' + i)), Text: []byte(text)})
		}
		_, checked := rules.Load(files)
		if _, err := Prepare(files); (err == nil) != (checked == nil) {
			t.Errorf("%q: a server has the error %v, and limitsrv rules check %v", texts, err, checked)
		}
	}
}
