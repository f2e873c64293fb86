// Package check holds the files for Compose and Kubernetes, and the objects of the chart for Helm, to
// the types of these projects, and to each other. It is a module of its own, so that the server
// does not depend on these projects.
package check

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	manifests = "../kubernetes"

	drainSeconds = 10 // the default of --drain
	// besidesKeys is the least quotient of a memory limit and --max-memory: resident bytes
	// are 1.18 of the bound (docs/measured.md), and connections and snapshots add to it.
	besidesKeys = 1.5
)

// separator is between the documents of YAML.
const separator = "\n---\n"

// A cluster is the objects of a deployment on Kubernetes.
type cluster struct {
	services map[string]*core.Service
	configs  map[string]*core.ConfigMap
	budget   *policy.PodDisruptionBudget // nil: none
	access   *networking.NetworkPolicy   // nil: none
	set      *apps.StatefulSet
}

// readCluster decodes the objects. Fields that their kinds lack, and fields given twice,
// are errors.
func readCluster(text []byte) (*cluster, error) {
	c := &cluster{services: map[string]*core.Service{}, configs: map[string]*core.ConfigMap{}}
	for i, document := range bytes.Split(text, []byte(separator)) {
		var kind meta.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		object, err := c.newObject(kind)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			return nil, fmt.Errorf("document %d, %s: %w", i, kind.Kind, err)
		}
		switch o := object.(type) {
		case *core.Service:
			c.services[o.Name] = o
		case *core.ConfigMap:
			c.configs[o.Name] = o
		}
	}
	if c.set == nil || len(c.set.Spec.Template.Spec.Containers) != 1 {
		return nil, fmt.Errorf("want a StatefulSet of one container")
	}
	return c, nil
}

// newObject returns an empty object of a kind. The cluster has it if the cluster has one of its kind.
func (c *cluster) newObject(kind meta.TypeMeta) (meta.Object, error) {
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 Service":
		return &core.Service{}, nil
	case "v1 ConfigMap":
		return &core.ConfigMap{}, nil
	case "policy/v1 PodDisruptionBudget":
		c.budget = &policy.PodDisruptionBudget{}
		return c.budget, nil
	case "networking.k8s.io/v1 NetworkPolicy":
		c.access = &networking.NetworkPolicy{}
		return c.access, nil
	case "apps/v1 StatefulSet":
		c.set = &apps.StatefulSet{}
		return c.set, nil
	}
	return nil, fmt.Errorf("kind %s %s", kind.APIVersion, kind.Kind)
}

func (c *cluster) container() *core.Container { return &c.set.Spec.Template.Spec.Containers[0] }

// setting returns a value of the environment, as the first pod has it.
func (c *cluster) setting(name string) string {
	i := slices.IndexFunc(c.container().Env, func(e core.EnvVar) bool { return e.Name == name })
	if i < 0 {
		return ""
	}
	return strings.ReplaceAll(c.container().Env[i].Value, "$(POD_NAME)", c.set.Name+"-0")
}

// port returns the number of a port of the container, or 0.
func (c *cluster) port(name string) int32 {
	i := slices.IndexFunc(c.container().Ports, func(p core.ContainerPort) bool { return p.Name == name })
	if i < 0 {
		return 0
	}
	return c.container().Ports[i].ContainerPort
}

// hasRoom reports whether a limit leaves room beside --max-memory.
func hasRoom(limit int64, maxMemory string) bool {
	number, isGB := strings.CutSuffix(maxMemory, "gb")
	unit := "Gi"
	if !isGB {
		number, unit = strings.TrimSuffix(maxMemory, "mb"), "Mi"
	}
	keys, err := resource.ParseQuantity(number + unit)
	return err == nil && float64(limit) >= besidesKeys*float64(keys.Value())
}

// readManifests returns the files of the manifests as one.
func readManifests(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob(manifests + "/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("%s has the files %q, %v", manifests, names, err)
	}
	var all []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return strings.Join(all, separator)
}

// clusterComplaints returns the complaints about a deployment of some nodes.
func clusterComplaints(text []byte, nodes int) ([]string, error) {
	c, err := readCluster(text)
	if err != nil {
		return nil, err
	}
	return c.complaints(nodes), nil
}

func TestKubernetes(t *testing.T) {
	all, err := clusterComplaints([]byte(readManifests(t)), 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range all {
		t.Error(complaint)
	}
}

// TestKubernetesComplains breaks the manifests in one place at a time.
func TestKubernetesComplains(t *testing.T) {
	breakText(t, manifests, readManifests(t), func(text []byte) ([]string, error) { return clusterComplaints(text, 3) },
		[]breakage{
			{"an unknown field", "  replicas: 3", "  replica: 3", "unknown field"},
			{"a field given twice", "  replicas: 3", "  replicas: 3\n  replicas: 3", "already set"},
			{"a wrong type", "  replicas: 3", "  replicas: three", "cannot unmarshal"},
			{"no quantity", "memory: 2Gi}\n            #", "memory: much}\n            #", "quantit"},
			{"an unknown kind", "kind: StatefulSet", "kind: StatefullSet", "kind apps/v1"},
			{"an unknown field of a policy", "  podSelector:\n    matchLabels", "  podSelectors:\n    matchLabels",
				"unknown field"},
			{"a budget of two", "maxUnavailable: 1", "maxUnavailable: 2", "a budget must let"},
			{"a rule for everybody",
				"    - from:\n        - podSelector:\n            matchLabels: {limitsrv-client: \"true\"}\n", "    -\n",
				"the policy has a rule for all pods"},
			{"another label of pods", "      labels: {app.kubernetes.io/name: limitsrv}", "      labels: {app: limitsrv}",
				"the set selects"},
			{"a service with an address", "clusterIP: None", "clusterIP: 10.0.0.1", "headless"},
			{"nodes that wait for each other", "podManagementPolicy: Parallel", "podManagementPolicy: OrderedReady",
				"Parallel"},
			{"a peer too few", ",limitsrv-2.limitsrv-nodes:7379", "", "LIMITSRV_PEERS"},
			{"variables of services", "enableServiceLinks: false", "enableServiceLinks: true", "variables of services"},
			{"a short grace period", "terminationGracePeriodSeconds: 30", "terminationGracePeriodSeconds: 10", "grace period"},
			{"little memory", "limits: {memory: 2Gi}", "limits: {memory: 1Gi}", "too little"},
			{"a probe of another path", "{path: /readyz, port: admin}", "{path: /livez, port: admin}", "must ask for /readyz"},
			{"a probe of no port", "{path: /readyz, port: admin}", "{path: /readyz, port: http}", "no readiness probe"},
			{"a volume elsewhere", "mountPath: /data", "mountPath: /var", "mounted at /data"},
			{"a volume that is not there", "- {name: rules, mountPath", "- {name: rule, mountPath", "no volume rule"},
			{"an image without a registry", "registry.example.com/limitsrv:", "limitsrv:", "the image"},
			{"a port that nothing listens on", "containerPort: 6379", "containerPort: 6380", "port redis is 6380"},
			{"a listener without a port", "            - {name: raft, containerPort: 7379}\n", "", "port raft is 0"},
			{"rules elsewhere", "value: /etc/limitsrv/rules", "value: /etc/limitsrv/rule", "LIMITSRV_RULES"},
			{"no rules", "  api.yaml: |", "  api.txt: |", "LIMITSRV_RULES"},
			{"rules of another ConfigMap", "configMap: {name: limitsrv-rules}", "configMap: {name: rules}", "LIMITSRV_RULES"},
			{"a file that follows no change", "mountPath: /etc/limitsrv/rules, ", "subPath: x, mountPath: /etc/limitsrv/rules, ",
				"subPath"},
			{"users elsewhere", "path: users.yaml}", "path: users}", "LIMITSRV_USERS"},
			{"a secret for everybody", "defaultMode: 0440", "defaultMode: 0444", "all users"},
			{"a scrape of another port", `port: "9379"`, `port: "6379"`, "prometheus.io/port"},
			{"a policy for other pods", "  podSelector:\n    matchLabels: {app.kubernetes.io/name: limitsrv}",
				"  podSelector:\n    matchLabels: {app: limitsrv}", "the policy selects"},
			{"links from all pods", "            matchLabels: {app.kubernetes.io/name: limitsrv}\n      ports: [{port: raft}]",
				"            matchLabels: {}\n      ports: [{port: raft}]", "port raft"},
			{"clients from everywhere", `            matchLabels: {limitsrv-client: "true"}`, "            matchLabels: {}",
				"port redis"},
			{"monitoring from everywhere", "matchLabels: {kubernetes.io/metadata.name: monitoring}", "matchLabels: {}",
				"port admin"},
			{"nobody may connect", "      ports: [{port: redis}]", "      ports: [{port: raft}]", "port redis"},
			{"a policy of no port", "ports: [{port: admin}]", "ports: [{port: web}]", "no port web"},
		})
}
