package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"limitsrv/commands/auth/users"
)

// composed are the files for Compose, with their numbers of nodes and fronts.
var composed = map[string]int{"compose.yaml": 1, "compose.cluster.yaml": 4}

// objects are the files with objects for Kubernetes: the manifests, and the objects of the chart for
// Helm.
var objects = []string{
	root + "deploy/kubernetes/*.yaml", root + "deploy/check/testdata/chart/one.yaml",
	root + "deploy/check/testdata/chart/three.yaml", root + "deploy/check/testdata/chart/default.yaml",
	root + "deploy/kubernetes/front/*.yaml",
}

// secrets are the values that operators give in the environment.
var secrets = strings.NewReplacer(
	"${LIMITSRV_PASSWORD:?set a password}", "hunter2",
	"${LIMITSRV_CLUSTER_SECRET:?set a secret}", "0123456789abcdef",
)

// TestContainersConfigured requires the files for Compose and Kubernetes to start the
// image of this version, with settings that the server accepts beside the image's own.
func TestContainersConfigured(t *testing.T) {
	image := readDockerfile(t).settings
	for file, nodes := range composed {
		var project struct {
			Services map[string]struct {
				Image       string
				Environment map[string]string
			}
		}
		text, err := os.ReadFile(root + "deploy/" + file)
		if err == nil {
			err = yaml.Unmarshal(text, &project)
		}
		if err != nil || len(project.Services) != nodes {
			t.Fatalf("%s has %d services (%v), want %d", file, len(project.Services), err, nodes)
		}
		for name, s := range project.Services {
			var settings []string
			for key, value := range s.Environment {
				settings = append(settings, key+"="+secrets.Replace(value))
			}
			wantImage(t, file, s.Image, "limitsrv:")
			configured(t, file+" "+name, slices.Concat(image, settings))
		}
	}
	for _, pattern := range objects {
		pod := readPod(t, pattern)
		wantImage(t, pattern, pod.image, "registry.example.com/limitsrv:")
		configured(t, pattern, slices.Concat(image, pod.settings))
	}
}

// wantImage requires an image of this version.
func wantImage(t *testing.T, where, image, want string) {
	t.Helper()
	if image != want+version {
		t.Errorf("%s: the image is %q, want %q", where, image, want+version)
	}
}

// A manifest is an object for Kubernetes: a StatefulSet or a ConfigMap.
type manifest struct {
	Data map[string]string
	Spec struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Image string
					Env   []struct {
						Name, Value string
						ValueFrom   struct {
							SecretKeyRef struct{ Key string } `yaml:"secretKeyRef"`
						} `yaml:"valueFrom"`
					}
				}
			}
		}
	}
}

// A podSpec is the container of the first pod of objects for Kubernetes.
type podSpec struct {
	image    string
	settings []string // the environment
}

// readPod reads the objects in the files of a pattern. The rules, users and certificates that settings
// name are in files of the test.
func readPod(t *testing.T, pattern string) (pod podSpec) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(names), err)
	}
	etc := t.TempDir()
	certificates := newTLSFiles(t, newAuthority(t))
	for name, in := range map[string]string{"tls.crt": "cert", "tls.key": "key", "ca.crt": "ca"} {
		text, err := os.ReadFile(certificates.name(in))
		if err != nil {
			t.Fatal(err)
		}
		writePodFile(t, etc, "tls/"+name, string(text))
	}
	hash, err := users.Hash([]byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	writePodFile(t, etc, "secret/users.yaml", "users: [{name: scraper, groups: [peek], keys: ['*'], hash: '"+hash+"'}]")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(text), "\n---\n") {
			var m manifest
			if err := yaml.Unmarshal([]byte(document), &m); err != nil {
				t.Fatal(err)
			}
			for file, text := range m.Data {
				writePodFile(t, etc, "rules/"+file, text)
			}
			pod.add(m, etc)
		}
	}
	if pod.image == "" {
		t.Fatalf("%s has no container", pattern)
	}
	return pod
}

func writePodFile(t *testing.T, etc, name, text string) {
	t.Helper()
	name = filepath.Join(etc, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// add adds the containers of an object. etc is in place of /etc/limitsrv.
func (pod *podSpec) add(m manifest, etc string) {
	values := strings.NewReplacer("$(POD_NAME)", "limitsrv-0", "/etc/limitsrv", etc)
	for _, c := range m.Spec.Template.Spec.Containers {
		pod.image = c.Image
		for _, e := range c.Env {
			value := values.Replace(e.Value)
			if e.ValueFrom.SecretKeyRef.Key != "" {
				value = "0123456789abcdef"
			}
			pod.settings = append(pod.settings, e.Name+"="+value)
		}
	}
}

// configured requires the server to have all settings, and to accept them.
func configured(t *testing.T, where string, settings []string) {
	t.Helper()
	empty := filepath.Join(t.TempDir(), "limitsrv.yaml")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, log, code := runs(t, limitsrv(settings, "config", "check", empty)); code != exitOK {
		t.Errorf("%s: config check: exit %d, %s", where, code, log)
	}
	shown, _, _ := runs(t, limitsrv(settings, "config", "show", empty))
	for _, s := range settings {
		name, _, _ := strings.Cut(s, "=")
		option, isOption := strings.CutPrefix(name, "LIMITSRV_")
		if option = strings.ToLower(strings.ReplaceAll(option, "_", "-")); isOption && !strings.Contains(shown, option) {
			t.Errorf("%s: there is no option --%s for %s", where, option, name)
		}
	}
}
