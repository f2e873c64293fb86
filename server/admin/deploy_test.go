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

// The files for Prometheus and Grafana.
const (
	alertRules = "../../deploy/alerts.yaml"
	alertTests = "../../deploy/alerts_test.yaml"
	dashboard  = "../../deploy/grafana-dashboard.json"
)

var (
	metricName = regexp.MustCompile(`\b(?:limitsrv|go|process)_[a-z0-9_]+\b`)
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
)

func readText(t *testing.T, file string) string {
	t.Helper()
	read, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(read)
}

// metricNames returns the names of all series, including the series of histograms.
func metricNames(t *testing.T) (names []string) {
	for _, found := range typeLine.FindAllStringSubmatch(allMetrics(t), -1) {
		names = append(names, found[1])
		if found[2] == "histogram" {
			names = append(names, found[1]+"_bucket", found[1]+"_sum", found[1]+"_count")
		}
	}
	return names
}

func TestRulesAndDashboardUseExistingMetrics(t *testing.T) {
	names := metricNames(t)
	used := map[string]bool{}
	for _, file := range []string{alertRules, alertTests, dashboard} {
		for _, name := range metricName.FindAllString(readText(t, file), -1) {
			if used[name] {
				continue
			}
			used[name] = true
			if !slices.Contains(names, name) {
				t.Errorf("%s uses %s, which /metrics lacks", file, name)
			}
		}
	}
	if len(used) < 40 {
		t.Errorf("found only %d names", len(used))
	}
}

// Each alert has a test that makes it fire.
func TestAlertsAreTested(t *testing.T) {
	tests := readText(t, alertTests)
	for _, found := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(readText(t, alertRules), -1) {
		if !strings.Contains(tests, `alertname="`+found[1]+`"`) {
			t.Errorf("%s has no test of %s", alertTests, found[1])
		}
	}
	promtool(t, "test", "rules", alertTests)
}

// The queries of the dashboard are valid for Prometheus.
func TestDashboardQueriesAreValid(t *testing.T) {
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(readText(t, dashboard)), &board); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$__rate_interval", "1m", "$job", "limitsrv", "$instance", "127.0.0.1:9379")
	rules := &strings.Builder{}
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	asked, ids := 0, map[int]bool{}
	for _, panel := range board.Panels {
		if ids[panel.ID] || panel.GridPos.X+panel.GridPos.W > 24 {
			t.Errorf("panel %d %q has the ID of another, or is beyond the edge", panel.ID, panel.Title)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			asked++
			fmt.Fprintf(rules, "  - record: panel:%d:%d\n    expr: %q\n", panel.ID, asked, fill.Replace(target.Expr))
		}
	}
	if asked < 40 {
		t.Errorf("the panels have only %d queries", asked)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}

// promtool runs promtool, which is part of Prometheus.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
