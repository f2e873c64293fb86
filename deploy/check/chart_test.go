package check

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

const chartDir = "../helm/limitsrv"

var rewrite = flag.Bool("rewrite", false, "write the objects of the chart to testdata/chart")

// chartNodes are the numbers of nodes by the files of values in ci, without .yaml.
var chartNodes = map[string]int{"one": 1, "three": 3, "default": 3}

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render returns the objects of the chart as helm template prints them for a release, and the notes.
func render(c *chart.Chart, release string, values map[string]any) (objects, notes string, err error) {
	options := chartutil.ReleaseOptions{Name: release, Namespace: "limits", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values, options, nil)
	if err != nil {
		return "", "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return "", "", err
	}
	var documents []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := strings.TrimSpace(files[name])
		switch {
		case path.Base(name) == "NOTES.txt":
			notes = text
		case text != "":
			documents = append(documents, text)
		}
	}
	return strings.Join(documents, separator) + "\n", notes, nil
}

// chartValues returns the values of a file in ci.
func chartValues(t *testing.T, name string) (values map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartDir, "ci", name+".yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &values)
	}
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// TestChart renders the chart and checks the objects as those of the manifests. The server checks
// the settings in testdata/chart.
func TestChart(t *testing.T) {
	c := loadChart(t)
	if c.Metadata.Version != c.Metadata.AppVersion {
		t.Errorf("the chart has version %s, and the version %s of limitsrv", c.Metadata.Version, c.Metadata.AppVersion)
	}
	for name := range chartNodes {
		checkRelease(t, c, "edge", name, "edge-limitsrv.limits, at the port")
		objects := checkRelease(t, c, "limitsrv", name, "limitsrv.limits, at the port")
		golden := filepath.Join("testdata", "chart", name+".yaml")
		if *rewrite {
			if err := os.WriteFile(golden, []byte(objects), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || !bytes.Equal(want, []byte(objects)) {
			t.Errorf("%s differs from the chart (%v); go test . -run Chart -rewrite writes it", golden, err)
		}
	}
	files, err := filepath.Glob(chartDir + "/ci/*.yaml")
	if err != nil || len(files) != len(chartNodes) {
		t.Errorf("ci has %q, %v, want %d files", files, err, len(chartNodes))
	}
}

// checkRelease renders the chart with the values of a file in ci, and checks the objects and the
// notes.
func checkRelease(t *testing.T, c *chart.Chart, release, values, note string) (objects string) {
	t.Helper()
	objects, notes, err := render(c, release, chartValues(t, values))
	var all []string
	if err == nil {
		all, err = clusterComplaints([]byte(objects), chartNodes[values])
	}
	if err != nil {
		t.Fatalf("%s as %s: %v", values, release, err)
	}
	for _, complaint := range all {
		t.Errorf("%s as %s: %s", values, release, complaint)
	}
	for _, want := range []string{"kubectl -n limits create secret generic limitsrv", note} {
		if !strings.Contains(notes, want) {
			t.Errorf("%s as %s: the notes lack %q:\n%s", values, release, want, notes)
		}
	}
	return objects
}

// TestChartLint requires no more than helm's advice to add an icon.
func TestChartLint(t *testing.T) {
	for name := range chartNodes {
		for _, m := range lint.All(chartDir, chartValues(t, name), "limits", true).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

// TestChartRefuses gives the chart wrong values.
func TestChartRefuses(t *testing.T) {
	c := loadChart(t)
	for _, tt := range []struct{ name, values, want string }{
		{"two nodes", "replicas: 2", "replicas"},
		{"an unknown value", "replica: 3", "replica"},
		{"an unknown value of a group", "rls: {grcp: true}", "grcp"},
		{"no ports for clients", "redis: false", "no client could connect"},
		{"no secret", `secret: ""`, "secret"},
		{"rules without a file", "rules: {api: x}", "'api' does not match pattern"},
		{"rules that are no text", "rules: {api.yaml: {domain: api}}", "rules"},
		{"a size without a unit", "maxMemory: 1000", "maxMemory"},
		{"an option as it is in the environment", "options: {NO_QUORUM: allow}", "'NO_QUORUM' does not match"},
		{"a policy for everybody", "networkPolicy: {clients: []}", "clients"},
		{"a peer for everybody", "networkPolicy: {clients: [{}]}", "clients"},
	} {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(tt.values), &values); err != nil {
			t.Fatal(err)
		}
		if _, _, err := render(c, "limitsrv", values); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

// TestChartComplains breaks the chart's objects in one place at a time.
func TestChartComplains(t *testing.T) {
	objects, _, err := render(loadChart(t), "limitsrv", chartValues(t, "one"))
	if err != nil {
		t.Fatal(err)
	}
	breakText(t, "one", objects, func(text []byte) ([]string, error) { return clusterComplaints(text, 1) }, []breakage{
		{"a cluster of one", "name: LIMITSRV_MAX_MEMORY, value: \"256mb\"", "name: LIMITSRV_RAFT, value: \"x:7379\"",
			"a single node is no cluster"},
		{"two pods", "replicas: 1", "replicas: 2", "2 replicas"},
		{"no volume", "emptyDir: {}", "hostPath: {path: /x}", "a volume must be mounted"},
		{"a port of the service that is not there", "port: 9381, targetPort: rls", "port: 9381, targetPort: redis",
			`no port "redis"`},
		{"an option without a port", "0.0.0.0:9381", "0.0.0.0:9382", "port rls is 9381"},
	})
}
