package check

import (
	"cmp"
	"fmt"
	"net"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// complaints are contradictions between objects.
type complaints []string

func (all *complaints) want(ok bool, format string, args ...any) {
	if !ok {
		*all = append(*all, fmt.Sprintf(format, args...))
	}
}

// complaints returns the contradictions between the objects of a deployment of some nodes.
func (c *cluster) complaints(nodes int) (all complaints) {
	c.checkSet(&all, nodes)
	c.checkServices(&all)
	c.checkPod(&all)
	c.checkPorts(&all)
	c.checkVolumes(&all)
	c.checkFiles(&all)
	if c.access != nil {
		c.checkAccess(&all)
	}
	return all
}

// checkSet checks the set and its members.
func (c *cluster) checkSet(all *complaints, nodes int) {
	spec := &c.set.Spec
	labels := spec.Template.Labels
	all.want(reflect.DeepEqual(spec.Selector.MatchLabels, labels), "the set selects %v, its pods are %v",
		spec.Selector.MatchLabels, labels)
	all.want(*spec.Replicas == int32(nodes), "%d replicas, want %d", *spec.Replicas, nodes)
	if nodes == 1 {
		all.want(c.setting("LIMITSRV_RAFT") == "" && c.setting("LIMITSRV_PEERS") == "", "a single node is no cluster")
		all.want(c.budget == nil, "a budget for a single node either means nothing or stops all evictions")
		return
	}
	all.want(c.budget != nil && reflect.DeepEqual(c.budget.Spec.Selector.MatchLabels, labels) &&
		c.budget.Spec.MaxUnavailable != nil && c.budget.Spec.MaxUnavailable.IntValue() == 1,
		"a budget must let one of the pods be evicted at a time")
	all.want(spec.PodManagementPolicy == apps.ParallelPodManagement,
		"nodes found a cluster together: podManagementPolicy must be Parallel")
	var peers []string
	for i := range nodes {
		peers = append(peers, fmt.Sprintf("%s-%d.%s:7379", c.set.Name, i, spec.ServiceName))
	}
	all.want(c.setting("LIMITSRV_PEERS") == strings.Join(peers, ","), "LIMITSRV_PEERS is %s, want %v",
		c.setting("LIMITSRV_PEERS"), peers)
	all.want(c.setting("LIMITSRV_RAFT") == peers[0], "LIMITSRV_RAFT of the first pod is %s", c.setting("LIMITSRV_RAFT"))
}

func (c *cluster) checkServices(all *complaints) {
	nodes := c.services[c.set.Spec.ServiceName]
	all.want(nodes != nil && nodes.Spec.ClusterIP == core.ClusterIPNone && nodes.Spec.PublishNotReadyAddresses,
		"serviceName %q wants a headless service that publishes nodes before they are ready", c.set.Spec.ServiceName)
	for name, s := range c.services {
		all.want(reflect.DeepEqual(s.Spec.Selector, c.set.Spec.Template.Labels), "service %s selects %v", name,
			s.Spec.Selector)
		all.want(len(s.Spec.Ports) > 0, "service %s has no port", name)
		for _, p := range s.Spec.Ports {
			all.want(c.port(p.TargetPort.StrVal) != 0, "service %s: the container has no port %q", name, p.TargetPort.StrVal)
		}
	}
}

// image is a name with a registry and a version.
var image = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]+)?/.+:[0-9][^/:]*$`)

func (c *cluster) checkPod(all *complaints) {
	pod := &c.set.Spec.Template.Spec
	all.want(image.MatchString(c.container().Image), "the image %s has no registry or no version", c.container().Image)
	all.want(pod.EnableServiceLinks != nil && !*pod.EnableServiceLinks, "variables of services must not be there")
	all.want(*pod.TerminationGracePeriodSeconds > drainSeconds, "a grace period of %d s is too short",
		*pod.TerminationGracePeriodSeconds)
	memory := c.container().Resources.Limits.Memory()
	all.want(hasRoom(memory.Value(), c.setting("LIMITSRV_MAX_MEMORY")), "a memory limit of %v is too little beside %s",
		memory, c.setting("LIMITSRV_MAX_MEMORY"))
	for name, probe := range map[string]*core.Probe{"startup": c.container().StartupProbe,
		"liveness": c.container().LivenessProbe, "readiness": c.container().ReadinessProbe} {
		ok := probe != nil && probe.HTTPGet != nil && c.port(probe.HTTPGet.Port.StrVal) != 0
		all.want(ok, "there is no %s probe at a port of the container", name)
		path := "/livez"
		if name == "readiness" {
			path = "/readyz"
		}
		all.want(ok && probe.HTTPGet.Path == path, "the %s probe must ask for %s", name, path)
	}
	annotations := c.set.Spec.Template.Annotations
	if annotations["prometheus.io/scrape"] == "true" {
		all.want(annotations["prometheus.io/port"] == strconv.Itoa(int(c.port("admin"))) &&
			annotations["prometheus.io/path"] == "/metrics", "prometheus.io/port or path is not that of the metrics: %v",
			annotations)
	}
}

// listeners are the options of the listeners, by the names of their ports.
var listeners = map[string]string{
	"redis": "LIMITSRV_LISTEN", "redis-tls": "LIMITSRV_TLS_LISTEN", "raft": "LIMITSRV_RAFT_BIND",
	"admin": "LIMITSRV_ADMIN", "rls": "LIMITSRV_RLS", "rls-http": "LIMITSRV_RLS_HTTP",
}

func (c *cluster) checkPorts(all *complaints) {
	for _, p := range c.container().Ports {
		all.want(listeners[p.Name] != "", "no option listens on port %s", p.Name)
	}
	for name, option := range listeners {
		_, port, _ := net.SplitHostPort(c.setting(option))
		all.want(strconv.Itoa(int(c.port(name))) == cmp.Or(port, "0"), "port %s is %d, %s is %q", name, c.port(name), option,
			c.setting(option))
	}
}

// checkVolumes checks that each mount has its volume.
func (c *cluster) checkVolumes(all *complaints) {
	atData := false
	for _, m := range c.container().VolumeMounts {
		all.want(m.SubPath == "", "%s: files that are mounted by subPath do not follow changes", m.MountPath)
		claimed := slices.ContainsFunc(c.set.Spec.VolumeClaimTemplates,
			func(v core.PersistentVolumeClaim) bool { return v.Name == m.Name })
		v := c.volume(m.Name)
		all.want(claimed != (v != nil), "%s: there is no volume %s, or two of them", m.MountPath, m.Name)
		if m.MountPath == c.setting("LIMITSRV_DATA") {
			atData = claimed || v != nil && v.EmptyDir != nil
		}
	}
	all.want(atData, "a volume must be mounted at %s", c.setting("LIMITSRV_DATA"))
}

func (c *cluster) volume(name string) *core.Volume {
	volumes := c.set.Spec.Template.Spec.Volumes
	i := slices.IndexFunc(volumes, func(v core.Volume) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return &volumes[i]
}

// mounted returns the volume at a path, or nil.
func (c *cluster) mounted(at string) *core.Volume {
	for _, m := range c.container().VolumeMounts {
		if m.MountPath == at {
			return c.volume(m.Name)
		}
	}
	return nil
}

// checkFiles checks that the files of options are in the volumes.
func (c *cluster) checkFiles(all *complaints) {
	if rules := c.setting("LIMITSRV_RULES"); rules != "" {
		v, found := c.mounted(rules), false
		if v != nil && v.ConfigMap != nil && c.configs[v.ConfigMap.Name] != nil {
			for name := range c.configs[v.ConfigMap.Name].Data {
				found = found || path.Ext(name) == ".yaml"
			}
		}
		all.want(found, "LIMITSRV_RULES is %s, which is no ConfigMap with rules", rules)
	}
	for _, option := range []string{"LIMITSRV_USERS", "LIMITSRV_TLS_CERT", "LIMITSRV_TLS_KEY", "LIMITSRV_TLS_CLIENT_CA"} {
		file := c.setting(option)
		if file == "" {
			continue
		}
		v := c.mounted(path.Dir(file))
		if v == nil || v.Secret == nil {
			all.want(false, "%s is %s, which is in no Secret", option, file)
			continue
		}
		all.want(slices.ContainsFunc(v.Secret.Items, func(k core.KeyToPath) bool { return k.Path == path.Base(file) }),
			"%s is %s, which the Secret does not have", option, file)
		all.want(v.Secret.DefaultMode != nil && *v.Secret.DefaultMode&0o007 == 0, "%s: all users can read %s", option, file)
	}
}

// checkAccess checks that the policy selects the pods, and that each port has its clients only.
func (c *cluster) checkAccess(all *complaints) {
	labels := c.set.Spec.Template.Labels
	all.want(reflect.DeepEqual(c.access.Spec.PodSelector.MatchLabels, labels), "the policy selects %v",
		c.access.Spec.PodSelector.MatchLabels)
	all.want(slices.Equal(c.access.Spec.PolicyTypes, []networking.PolicyType{networking.PolicyTypeIngress}),
		"the policy is of the types %v", c.access.Spec.PolicyTypes)
	open := map[string][]networking.NetworkPolicyPeer{}
	for _, rule := range c.access.Spec.Ingress {
		for _, p := range rule.Ports {
			if p.Port == nil || c.port(p.Port.StrVal) == 0 {
				all.want(false, "the policy: the container has no port %v", p.Port)
				continue
			}
			open[p.Port.StrVal] = append(open[p.Port.StrVal], rule.From...)
		}
		all.want(len(rule.Ports) > 0, "the policy has a rule for all ports")
		all.want(len(rule.From) > 0, "the policy has a rule for all pods")
	}
	for _, p := range c.container().Ports {
		peers := open[p.Name]
		all.want(len(peers) > 0, "the policy lets nobody, or everybody, connect to port %s", p.Name)
		for _, peer := range peers {
			all.want(selects(peer.PodSelector) || selects(peer.NamespaceSelector), "the policy lets all pods connect to port %s",
				p.Name)
			all.want(p.Name != "raft" || peer.NamespaceSelector == nil && peer.PodSelector != nil &&
				reflect.DeepEqual(peer.PodSelector.MatchLabels, labels),
				"the policy lets other pods than nodes connect to port raft")
		}
	}
}

// selects reports whether a selector leaves anything out.
func selects(s *meta.LabelSelector) bool {
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
}
