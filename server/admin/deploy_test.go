package admin

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What Prometheus and Grafana are to be given.
const (
	alertRules = "../../deploy/alerts.yaml"
	alertTests = "../../deploy/alerts_test.yaml"
	dashboard  = "../../deploy/grafana-dashboard.json"
)

var (
	metricName = regexp.MustCompile(`\b(?:limitsrv|go|process)_[a-z0-9_]+\b`)
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
)

func text(t *testing.T, file string) string {
	t.Helper()
	read, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(read)
}

// scraped are the names of all series, those of histograms too.
func scraped(t *testing.T) (names []string) {
	for _, found := range typeLine.FindAllStringSubmatch(metricsOfAll(t), -1) {
		names = append(names, found[1])
		if found[2] == "histogram" {
			names = append(names, found[1]+"_bucket", found[1]+"_sum", found[1]+"_count")
		}
	}
	return names
}

func TestRulesAndDashboardNameWhatIsThere(t *testing.T) {
	names := scraped(t)
	used := map[string]bool{}
	for _, file := range []string{alertRules, alertTests, dashboard} {
		for _, name := range metricName.FindAllString(text(t, file), -1) {
			if used[name] {
				continue
			}
			used[name] = true
			if !slices.Contains(names, name) {
				t.Errorf("%s has %s, and /metrics has not", file, name)
			}
		}
	}
	if len(used) < 40 {
		t.Errorf("only %d names were found", len(used))
	}
}

// Every alert is tested to come.
func TestAlertsAreTested(t *testing.T) {
	tests := text(t, alertTests)
	for _, found := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(text(t, alertRules), -1) {
		if !strings.Contains(tests, `alertname="`+found[1]+`"`) {
			t.Errorf("%s has no test of %s", alertTests, found[1])
		}
	}
	promtool(t, "test", "rules", alertTests)
}

// What the dashboard asks for, Prometheus understands.
func TestDashboardIsUnderstood(t *testing.T) {
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(text(t, dashboard)), &board); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$__rate_interval", "1m", "$job", "limitsrv", "$instance", "127.0.0.1:9379")
	rules := &strings.Builder{}
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	asked, ids := 0, map[int]bool{}
	for _, panel := range board.Panels {
		if ids[panel.ID] || panel.GridPos.X+panel.GridPos.W > 24 {
			t.Errorf("panel %d %q stands where another does, or beyond the edge", panel.ID, panel.Title)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			asked++
			fmt.Fprintf(rules, "  - record: panel:%d:%d\n    expr: %q\n", panel.ID, asked, fill.Replace(target.Expr))
		}
	}
	if asked < 40 {
		t.Errorf("the panels ask for %d things only", asked)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}

// promtool comes with Prometheus.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
