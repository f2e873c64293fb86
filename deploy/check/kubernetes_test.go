// Package check holds the files for Compose and Kubernetes to the types of both projects,
// and to each other. It is a module of its own, so that the server depends on neither.
package check

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	manifests = "../kubernetes/limitsrv.yaml"

	drainSeconds = 10 // the default of --drain
	// besidesKeys is the least quotient of a memory limit and --max-memory: resident bytes
	// are 1.18 of the bound (docs/measured.md), and connections and snapshots add to it.
	besidesKeys = 1.5
)

// A cluster is the objects of the manifests.
type cluster struct {
	services map[string]*core.Service
	budget   *policy.PodDisruptionBudget
	set      *apps.StatefulSet
}

// readCluster decodes the manifests. Fields that their kinds lack, and fields given twice,
// are errors.
func readCluster(text []byte) (*cluster, error) {
	c := &cluster{services: map[string]*core.Service{}}
	for i, document := range bytes.Split(text, []byte("\n---\n")) {
		var kind meta.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		var object meta.Object
		switch kind.APIVersion + " " + kind.Kind {
		case "v1 Service":
			object = &core.Service{}
		case "policy/v1 PodDisruptionBudget":
			c.budget = &policy.PodDisruptionBudget{}
			object = c.budget
		case "apps/v1 StatefulSet":
			c.set = &apps.StatefulSet{}
			object = c.set
		default:
			return nil, fmt.Errorf("document %d: kind %s %s", i, kind.APIVersion, kind.Kind)
		}
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			return nil, fmt.Errorf("document %d, %s: %w", i, kind.Kind, err)
		}
		if s, ok := object.(*core.Service); ok {
			c.services[s.Name] = s
		}
	}
	if c.set == nil || c.budget == nil || len(c.set.Spec.Template.Spec.Containers) != 1 {
		return nil, fmt.Errorf("want a StatefulSet of one container and a PodDisruptionBudget")
	}
	return c, nil
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

// complaints returns the contradictions between the objects.
func (c *cluster) complaints() (all []string) {
	want := func(ok bool, format string, args ...any) {
		if !ok {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	var (
		spec   = &c.set.Spec
		pod    = &spec.Template.Spec
		labels = spec.Template.Labels
		nodes  = c.services[spec.ServiceName]
	)
	want(reflect.DeepEqual(spec.Selector.MatchLabels, labels), "the set selects %v, its pods are %v",
		spec.Selector.MatchLabels, labels)
	want(reflect.DeepEqual(c.budget.Spec.Selector.MatchLabels, labels), "the budget selects %v",
		c.budget.Spec.Selector.MatchLabels)
	for name, s := range c.services {
		want(reflect.DeepEqual(s.Spec.Selector, labels), "service %s selects %v", name, s.Spec.Selector)
		for _, p := range s.Spec.Ports {
			want(c.hasPort(p.TargetPort.StrVal), "service %s: the container has no port %q", name, p.TargetPort.StrVal)
		}
	}
	want(nodes != nil && nodes.Spec.ClusterIP == core.ClusterIPNone && nodes.Spec.PublishNotReadyAddresses,
		"serviceName %q wants a headless service that publishes nodes before they are ready", spec.ServiceName)
	want(*spec.Replicas == 3, "%d replicas, want 3", *spec.Replicas)
	want(spec.PodManagementPolicy == apps.ParallelPodManagement,
		"nodes found a cluster together: podManagementPolicy must be Parallel")
	var peers []string
	for i := range int(*spec.Replicas) {
		peers = append(peers, fmt.Sprintf("%s-%d.%s:7379", c.set.Name, i, spec.ServiceName))
	}
	want(c.setting("LIMITSRV_PEERS") == strings.Join(peers, ","), "LIMITSRV_PEERS is %s, want %v",
		c.setting("LIMITSRV_PEERS"), peers)
	want(c.setting("LIMITSRV_RAFT") == peers[0], "LIMITSRV_RAFT of the first pod is %s", c.setting("LIMITSRV_RAFT"))
	want(pod.EnableServiceLinks != nil && !*pod.EnableServiceLinks, "variables of services must not be there")
	want(*pod.TerminationGracePeriodSeconds > drainSeconds, "a grace period of %d s is too short",
		*pod.TerminationGracePeriodSeconds)
	memory := c.container().Resources.Limits.Memory()
	want(hasRoom(memory.Value(), c.setting("LIMITSRV_MAX_MEMORY")), "a memory limit of %v is too little beside %s", memory,
		c.setting("LIMITSRV_MAX_MEMORY"))
	for name, probe := range map[string]*core.Probe{"startup": c.container().StartupProbe,
		"liveness": c.container().LivenessProbe, "readiness": c.container().ReadinessProbe} {
		ok := probe != nil && probe.HTTPGet != nil && c.hasPort(probe.HTTPGet.Port.StrVal)
		want(ok, "there is no %s probe at a port of the container", name)
		path := "/livez"
		if name == "readiness" {
			path = "/readyz"
		}
		want(ok && probe.HTTPGet.Path == path, "the %s probe must ask for %s", name, path)
	}
	mounts := c.container().VolumeMounts
	want(len(mounts) == 1 && len(spec.VolumeClaimTemplates) == 1 && mounts[0].Name == spec.VolumeClaimTemplates[0].Name &&
		mounts[0].MountPath == c.setting("LIMITSRV_DATA"), "the claimed volume must be mounted at %s",
		c.setting("LIMITSRV_DATA"))
	return all
}

func (c *cluster) hasPort(name string) bool {
	return slices.ContainsFunc(c.container().Ports, func(p core.ContainerPort) bool { return p.Name == name })
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

func TestKubernetes(t *testing.T) {
	text, err := os.ReadFile(manifests)
	if err != nil {
		t.Fatal(err)
	}
	c, err := readCluster(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range c.complaints() {
		t.Error(complaint)
	}
}

// TestKubernetesComplains breaks the manifests in one place at a time.
func TestKubernetesComplains(t *testing.T) {
	checkBreakages(t, manifests, func(text []byte) ([]string, error) {
		c, err := readCluster(text)
		if err != nil {
			return nil, err
		}
		return c.complaints(), nil
	}, []breakage{
		{"an unknown field", "  replicas: 3", "  replica: 3", "unknown field"},
		{"a field given twice", "  replicas: 3", "  replicas: 3\n  replicas: 3", "already set"},
		{"a wrong type", "  replicas: 3", "  replicas: three", "cannot unmarshal"},
		{"no quantity", "memory: 2Gi}\n          #", "memory: much}\n          #", "quantit"},
		{"an unknown kind", "kind: StatefulSet", "kind: StatefullSet", "kind apps/v1"},
		{"another label of pods", "      labels: {app.kubernetes.io/name: limitsrv}", "      labels: {app: limitsrv}",
			"the set selects"},
		{"a service with an address", "clusterIP: None", "clusterIP: 10.0.0.1", "headless"},
		{"nodes that wait for each other", "podManagementPolicy: Parallel", "podManagementPolicy: OrderedReady", "Parallel"},
		{"a peer too few", ",limitsrv-2.limitsrv-nodes:7379", "", "LIMITSRV_PEERS"},
		{"variables of services", "enableServiceLinks: false", "enableServiceLinks: true", "variables of services"},
		{"a short grace period", "terminationGracePeriodSeconds: 30", "terminationGracePeriodSeconds: 10", "grace period"},
		{"little memory", "limits: {memory: 2Gi}", "limits: {memory: 1Gi}", "too little"},
		{"a probe of another path", "{path: /readyz, port: admin}", "{path: /livez, port: admin}", "must ask for /readyz"},
		{"a probe of no port", "{path: /readyz, port: admin}", "{path: /readyz, port: http}", "no readiness probe"},
		{"a volume elsewhere", "mountPath: /data", "mountPath: /var", "mounted at /data"},
	})
}
