package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// composed are the files for Compose, and the number of nodes in each.
var composed = map[string]int{"../compose.yaml": 1, "../compose.cluster.yaml": 3}

// readProject reads a file for Compose, as docker compose would, and checks it against
// Compose's schema.
func readProject(text []byte) (*types.Project, error) {
	dir, err := filepath.Abs("..")
	if err != nil {
		return nil, err
	}
	return loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir:  dir,
		ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: text}},
		Environment: types.Mapping{"LIMITSRV_PASSWORD": "secret", "LIMITSRV_CLUSTER_SECRET": "0123456789abcdef"},
	})
}

// projectComplaints returns the contradictions within a file of some nodes.
func projectComplaints(p *types.Project, nodes int) (all []string) {
	want := func(ok bool, format string, args ...any) {
		if !ok {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	fronts := 0
	for _, s := range p.Services {
		if s.Environment["LIMITSRV_FRONT"] != nil {
			fronts++
		}
	}
	want(len(p.Services) == nodes+fronts, "%d services, want %d and fronts", len(p.Services), nodes)
	setting := func(s types.ServiceConfig, name string) string {
		if value := s.Environment[name]; value != nil {
			return *value
		}
		return ""
	}
	published := map[string]string{}
	for name, s := range p.Services {
		want(s.StopGracePeriod != nil && time.Duration(*s.StopGracePeriod) > drainSeconds*time.Second,
			"%s: the grace period is too short", name)
		front := setting(s, "LIMITSRV_FRONT")
		want(front != "" || hasRoom(int64(s.MemLimit), setting(s, "LIMITSRV_MAX_MEMORY")),
			"%s: a memory limit of %d is too little", name, s.MemLimit)
		want(front != "" || len(s.Volumes) == 1 && s.Volumes[0].Target == "/data", "%s: one volume at /data is wanted", name)
		want(s.HealthCheck != nil && strings.Join(s.HealthCheck.Test, " ") == "CMD /limitsrv ping --wait 5s",
			"%s: the health check must wait until the node is ready", name)
		want(setting(s, "LIMITSRV_PASSWORD") != "", "%s: there is no password", name)
		for _, port := range s.Ports {
			want(port.HostIP == "127.0.0.1", "%s: port %s is published beyond this machine", name, port.Published)
			want(published[port.Published] == "", "%s and %s publish port %s", name, published[port.Published], port.Published)
			published[port.Published] = name
		}
		if front != "" {
			want(len(strings.Split(front, ",")) == nodes, "%s: LIMITSRV_FRONT is %s", name, front)
		} else if nodes > 1 {
			want(setting(s, "LIMITSRV_RAFT") == name+":7379", "%s: LIMITSRV_RAFT is %s", name, setting(s, "LIMITSRV_RAFT"))
			want(strings.Contains(setting(s, "LIMITSRV_PEERS"), name+":7379"), "%s is not in LIMITSRV_PEERS", name)
			want(len(strings.Split(setting(s, "LIMITSRV_PEERS"), ",")) == nodes, "%s: LIMITSRV_PEERS is %s", name,
				setting(s, "LIMITSRV_PEERS"))
		}
	}
	return all
}

func TestCompose(t *testing.T) {
	for file, nodes := range composed {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := readProject(text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, complaint := range projectComplaints(p, nodes) {
			t.Errorf("%s: %s", file, complaint)
		}
	}
}

// TestComposeComplains breaks a file in one place at a time.
func TestComposeComplains(t *testing.T) {
	checkBreakages(t, "../compose.cluster.yaml", func(text []byte) ([]string, error) {
		p, err := readProject(text)
		if err != nil {
			return nil, err
		}
		return projectComplaints(p, 3), nil
	}, []breakage{
		{"an unknown field", "  read_only: true", "  readonly: true", "readonly"},
		{"a wrong type", `ports: ["127.0.0.1:6381:6379",`, `ports: [true,`, "ports"},
		{"no duration", "stop_grace_period: 15s", "stop_grace_period: long", "stop_grace_period"},
		{"a volume that is not declared", "volumes: [\"node3:/data\"]", "volumes: [\"node4:/data\"]", "node4"},
		{"a short grace period", "stop_grace_period: 15s", "stop_grace_period: 10s", "grace period is too short"},
		{"a health check that does not wait", "ping, --wait, 5s]", "ping]", "until the node is ready"},
		{"little memory", "mem_limit: 1g", "mem_limit: 512m", "too little"},
		{"the address of another node", `LIMITSRV_RAFT: "node2:7379"`, `LIMITSRV_RAFT: "node1:7379"`,
			"LIMITSRV_RAFT is node1"},
		{"a peer too few", ",node3:7379", "", "LIMITSRV_PEERS"},
		{"a port for everyone", `"127.0.0.1:6383:6379"`, `"6383:6379"`, "beyond this machine"},
		{"a port published twice", `"127.0.0.1:6383:6379"`, `"127.0.0.1:6382:6379"`, "publish port 6382"},
	})
}
