package check

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	bootstrap "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3" // types of the configuration
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"sigs.k8s.io/yaml"
)

const proxiesPage = "../../docs/proxies.md"

var envoyBlock = regexp.MustCompile("(?s)```yaml\n(static_resources:.*?)```")

// envoyComplaints reads Envoy's configuration of a page by Envoy's types: unknown words,
// values of other types and values out of bounds are complaints.
func envoyComplaints(page []byte) ([]string, error) {
	blocks := envoyBlock.FindAllSubmatch(page, -1)
	if len(blocks) != 1 {
		return nil, fmt.Errorf("the page has %d configurations of Envoy, want 1", len(blocks))
	}
	text, err := yaml.YAMLToJSONStrict(blocks[0][1])
	if err != nil {
		return nil, err
	}
	var config bootstrap.Bootstrap
	if err := protojson.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	var all []string
	err = protorange.Range(config.ProtoReflect(), func(values protopath.Values) error {
		m, ok := values.Index(-1).Value.Interface().(protoreflect.Message)
		if !ok {
			return nil
		}
		if v, ok := m.Interface().(interface{ Validate() error }); ok {
			if err := v.Validate(); err != nil {
				all = append(all, err.Error())
			}
		}
		return nil
	})
	return all, err
}

func TestEnvoy(t *testing.T) {
	page, err := os.ReadFile(proxiesPage)
	if err != nil {
		t.Fatal(err)
	}
	all, err := envoyComplaints(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range all {
		t.Error(complaint)
	}
}

func TestEnvoyComplains(t *testing.T) {
	checkBreakages(t, proxiesPage, envoyComplaints, []breakage{
		{"a word that Envoy lacks", "failure_mode_deny: false", "fail_open: false", `unknown field "fail_open"`},
		{"a type that Envoy lacks", "filters.http.ratelimit.v3.RateLimit", "filters.http.ratelimit.v3.Limit",
			"unable to resolve"},
		{"no domain", " domain: api\n", " domain: \"\"\n", "Domain: value length must be at least 1"},
		{"a port beyond 65535", "port_value: 9381", "port_value: 93810",
			"PortValue: value must be less than or equal to 65535"},
		{"no configuration", "static_resources:", "static:", "0 configurations"},
	})
}
