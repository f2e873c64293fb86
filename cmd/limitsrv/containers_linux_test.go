package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// composed are the files for Compose, with their numbers of nodes.
var composed = map[string]int{"compose.yaml": 1, "compose.cluster.yaml": 3}

const manifests = root + "deploy/kubernetes/limitsrv.yaml"

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
			configured(t, file+" "+name, s.Image, slices.Concat(image, settings))
		}
	}
	image, settings := podSettings(t)
	configured(t, manifests, image[0], settings)
}

// podSettings returns the image of the StatefulSet and the environment of its first pod.
func podSettings(t *testing.T) (image, settings []string) {
	t.Helper()
	text, err := os.ReadFile(manifests)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var set struct {
			Kind string
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
		if err := yaml.Unmarshal([]byte(document), &set); err != nil {
			t.Fatal(err)
		}
		for _, c := range set.Spec.Template.Spec.Containers {
			image = append(image, c.Image)
			for _, e := range c.Env {
				value := strings.ReplaceAll(e.Value, "$(POD_NAME)", "limitsrv-0")
				if e.ValueFrom.SecretKeyRef.Key != "" {
					value = "0123456789abcdef"
				}
				settings = append(settings, e.Name+"="+value)
			}
		}
	}
	if len(image) != 1 {
		t.Fatalf("%s has %d containers, want one", manifests, len(image))
	}
	return image, settings
}

// configured requires the server to have all settings, and to accept them.
func configured(t *testing.T, where, image string, settings []string) {
	t.Helper()
	if want := "limitsrv:" + version; image != want {
		t.Errorf("%s: the image is %q, want %q", where, image, want)
	}
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
