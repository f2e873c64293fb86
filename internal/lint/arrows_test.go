package lint_test

// arrows lists the permitted imports of each package besides the standard library. The name of
// another module's package includes the packages below it. A package that is not listed may import
// nothing of ours. From left to right, a folder of the root may import the folders after it:
//
//	cmd -> server -> commands -> engine
//	cmd -> replication -> persist -> engine
//
// Any of them may import internal, which imports nothing of ours. The exceptions are for tests:
// internal/testing/simtest and internal/lint.
var arrows = map[string][]string{
	"cmd/limitsrv": {
		"limitsrv/cmd/limitsrv/completion", "limitsrv/cmd/limitsrv/options", "limitsrv/cmd/limitsrv/settings",
		"limitsrv/cmd/limitsrv/state", "limitsrv/commands", "limitsrv/commands/auth/users",
		"limitsrv/commands/backend", "limitsrv/commands/events", "limitsrv/commands/rules",
		"limitsrv/commands/rules/checks", "limitsrv/commands/rules/live", "limitsrv/commands/rules/ruletest",
		"limitsrv/commands/rules/source",
		"limitsrv/commands/rules/stored", "limitsrv/commands/session", "limitsrv/commands/spec",
		"limitsrv/internal/beat", "limitsrv/internal/certs", "limitsrv/internal/files", "limitsrv/internal/pace",
		"limitsrv/internal/respclient", "limitsrv/persist", "limitsrv/replication/offline",
		"limitsrv/replication/storage", "limitsrv/server", "limitsrv/server/admin", "limitsrv/server/admin/page",
		"limitsrv/server/events", "limitsrv/server/rls", "limitsrv/server/rls/envoy", "github.com/alecthomas/kong",
		"github.com/coreos/go-systemd/v22/daemon", "golang.org/x/term", "google.golang.org/grpc",
	},
	"cmd/limitsrv/completion": {},
	"cmd/limitsrv/options": {
		"limitsrv/commands/auth", "limitsrv/commands/auth/users", "limitsrv/commands/resp",
		"limitsrv/commands/rules/live", "limitsrv/commands/rules/source", "limitsrv/commands/rules/stored",
		"limitsrv/commands/session", "limitsrv/commands/word", "limitsrv/internal/certs",
		"limitsrv/internal/files", "limitsrv/internal/yamlfile", "limitsrv/persist", "limitsrv/replication/link",
		"limitsrv/replication/storage", "limitsrv/server", "limitsrv/server/events", "github.com/alecthomas/kong",
		"go.yaml.in/yaml/v3",
	},
	"cmd/limitsrv/settings": {
		"limitsrv/cmd/limitsrv/options", "limitsrv/commands/resp", "limitsrv/commands/session",
		"limitsrv/internal/files",
	},
	"cmd/limitsrv/state": {
		"limitsrv/cmd/limitsrv/options", "limitsrv/commands/backend", "limitsrv/commands/calls",
		"limitsrv/commands/resp", "limitsrv/engine", "limitsrv/engine/slots", "limitsrv/internal/beat",
		"limitsrv/internal/certs", "limitsrv/internal/status", "limitsrv/internal/turns", "limitsrv/persist",
		"limitsrv/replication", "limitsrv/replication/front", "limitsrv/replication/fronts",
		"limitsrv/replication/link",
	},
	"commands": {
		"limitsrv/commands/auth", "limitsrv/commands/auth/users", "limitsrv/commands/backend",
		"limitsrv/commands/datatypes", "limitsrv/commands/glob", "limitsrv/commands/limiters",
		"limitsrv/commands/resp", "limitsrv/commands/rules", "limitsrv/commands/rules/checks",
		"limitsrv/commands/rules/live", "limitsrv/commands/rules/source", "limitsrv/commands/rules/stored",
		"limitsrv/commands/scripts", "limitsrv/commands/session", "limitsrv/commands/spec",
		"limitsrv/commands/usage", "limitsrv/commands/word", "limitsrv/engine", "limitsrv/engine/answer",
		"limitsrv/engine/slots", "limitsrv/engine/topk", "limitsrv/internal/histogram",
		"limitsrv/internal/status",
	},
	"commands/auth": {
		"limitsrv/commands/auth/users", "limitsrv/commands/glob", "limitsrv/commands/resp", "limitsrv/engine",
	},
	"commands/auth/users": {
		"limitsrv/internal/beat", "limitsrv/internal/files", "limitsrv/internal/yamlfile", "go.yaml.in/yaml/v3",
		"golang.org/x/crypto",
	},
	"commands/backend": {
		"limitsrv/commands/resp", "limitsrv/engine", "limitsrv/engine/slots", "limitsrv/engine/topk",
		"limitsrv/internal/fatal", "limitsrv/internal/status", "limitsrv/internal/turns",
	},
	"commands/calls": {
		"limitsrv/commands/datatypes", "limitsrv/commands/reservations", "limitsrv/commands/rules/stored",
		"limitsrv/commands/scripts", "limitsrv/commands/spec",
	},
	"commands/datatypes": {
		"limitsrv/commands/glob", "limitsrv/commands/spec", "limitsrv/engine", "limitsrv/engine/answer",
		"limitsrv/engine/values", "limitsrv/engine/values/numbers",
	},
	"commands/events": {
		"limitsrv/commands/backend", "limitsrv/commands/rules", "limitsrv/commands/rules/checks",
		"limitsrv/commands/scripts", "limitsrv/engine", "limitsrv/engine/answer", "limitsrv/internal/status",
	},
	"commands/glob": {},
	"commands/limiters": {
		"limitsrv/commands/reservations", "limitsrv/commands/resp", "limitsrv/commands/spec",
		"limitsrv/commands/word", "limitsrv/engine", "limitsrv/engine/answer", "limitsrv/engine/siphash",
	},
	"commands/reservations": {
		"limitsrv/commands/resp", "limitsrv/commands/spec", "limitsrv/commands/word", "limitsrv/engine",
		"limitsrv/engine/answer",
	},
	"commands/resp": {"limitsrv/engine/answer", "github.com/tidwall/redcon"},
	"commands/rules": {
		"limitsrv/commands/rules/slab", "limitsrv/commands/rules/source", "limitsrv/commands/word",
		"limitsrv/engine", "limitsrv/internal/pace",
	},
	"commands/rules/boundtest": {"limitsrv/commands/rules/source"},
	"commands/rules/checks": {
		"limitsrv/commands/calls", "limitsrv/commands/limiters", "limitsrv/commands/reservations",
		"limitsrv/commands/resp", "limitsrv/commands/rules", "limitsrv/commands/rules/live",
		"limitsrv/commands/rules/source", "limitsrv/engine", "limitsrv/engine/answer", "limitsrv/engine/siphash",
	},
	"commands/rules/live": {
		"limitsrv/commands/resp", "limitsrv/commands/rules", "limitsrv/commands/rules/source",
		"limitsrv/commands/rules/stored", "limitsrv/engine", "limitsrv/internal/pace",
	},
	"commands/rules/ruletest": {
		"limitsrv/commands/reservations", "limitsrv/commands/rules", "limitsrv/commands/rules/checks",
		"limitsrv/commands/rules/source",
		"limitsrv/engine",
	},
	"commands/rules/slab": {},
	"commands/rules/source": {
		"limitsrv/commands/limiters", "limitsrv/commands/rules/slab", "limitsrv/commands/word",
		"limitsrv/engine", "limitsrv/internal/pace", "limitsrv/internal/yamlfile", "go.yaml.in/yaml/v3",
	},
	"commands/rules/stored": {
		"limitsrv/commands/resp", "limitsrv/commands/rules", "limitsrv/commands/rules/source", "limitsrv/engine",
		"limitsrv/engine/answer",
	},
	"commands/rules/storedtest": {
		"limitsrv/commands/calls", "limitsrv/commands/rules", "limitsrv/commands/rules/source",
		"limitsrv/commands/rules/stored", "limitsrv/engine", "limitsrv/engine/answer",
	},
	"commands/scripts": {
		"limitsrv/commands/datatypes", "limitsrv/commands/glob", "limitsrv/commands/limiters",
		"limitsrv/commands/scripts/lua", "limitsrv/commands/scripts/lua/bitops",
		"limitsrv/commands/scripts/lua/cjson", "limitsrv/commands/scripts/lua/cstruct",
		"limitsrv/commands/scripts/lua/library", "limitsrv/commands/scripts/lua/number",
		"limitsrv/commands/scripts/lua/syntax", "limitsrv/commands/scripts/lua/value", "limitsrv/commands/spec",
		"limitsrv/engine", "limitsrv/engine/answer", "limitsrv/engine/values/numbers",
	},
	"commands/scripts/lua": {
		"limitsrv/commands/scripts/lua/arena", "limitsrv/commands/scripts/lua/number",
		"limitsrv/commands/scripts/lua/syntax", "limitsrv/commands/scripts/lua/value",
	},
	"commands/scripts/lua/arena":  {},
	"commands/scripts/lua/bitops": {"limitsrv/commands/scripts/lua", "limitsrv/commands/scripts/lua/value"},
	"commands/scripts/lua/cjson": {
		"limitsrv/commands/scripts/lua", "limitsrv/commands/scripts/lua/number",
		"limitsrv/commands/scripts/lua/value",
	},
	"commands/scripts/lua/cstruct": {
		"limitsrv/commands/scripts/lua", "limitsrv/commands/scripts/lua/number",
		"limitsrv/commands/scripts/lua/value",
	},
	"commands/scripts/lua/elementary": {},
	"commands/scripts/lua/library": {
		"limitsrv/commands/scripts/lua", "limitsrv/commands/scripts/lua/elementary",
		"limitsrv/commands/scripts/lua/number", "limitsrv/commands/scripts/lua/pattern",
		"limitsrv/commands/scripts/lua/value",
	},
	"commands/scripts/lua/number":  {"limitsrv/commands/scripts/lua/elementary"},
	"commands/scripts/lua/pattern": {},
	"commands/scripts/lua/syntax":  {"limitsrv/commands/scripts/lua/number"},
	"commands/scripts/lua/value": {
		"limitsrv/commands/scripts/lua/arena", "limitsrv/commands/scripts/lua/number",
	},
	"commands/session": {
		"limitsrv/commands/auth", "limitsrv/commands/auth/users", "limitsrv/commands/backend",
		"limitsrv/commands/glob", "limitsrv/commands/reservations", "limitsrv/commands/resp",
		"limitsrv/commands/rules", "limitsrv/commands/rules/checks", "limitsrv/commands/rules/live",
		"limitsrv/commands/rules/source",
		"limitsrv/commands/rules/stored", "limitsrv/commands/spec", "limitsrv/commands/tracking",
		"limitsrv/commands/usage", "limitsrv/commands/waiting", "limitsrv/commands/word", "limitsrv/engine",
		"limitsrv/engine/answer", "limitsrv/engine/slots", "limitsrv/internal/fatal",
		"limitsrv/internal/histogram", "limitsrv/internal/invariants", "limitsrv/internal/loglimit",
		"limitsrv/internal/pace", "limitsrv/internal/status", "limitsrv/internal/turns",
	},
	"commands/spec": {
		"limitsrv/commands/resp", "limitsrv/commands/usage", "limitsrv/commands/word", "limitsrv/engine",
		"limitsrv/engine/values/numbers",
	},
	"commands/spec/spectest": {"limitsrv/commands/spec", "limitsrv/commands/usage"},
	"commands/tracking":      {"limitsrv/commands/resp", "limitsrv/engine"},
	"commands/usage":         {},
	"commands/waiting":       {"limitsrv/engine", "limitsrv/engine/answer"},
	"commands/word":          {},
	"engine": {
		"limitsrv/engine/siphash", "limitsrv/engine/topk", "limitsrv/engine/values",
		"limitsrv/engine/values/numbers", "limitsrv/internal/invariants",
	},
	"engine/answer":         {"limitsrv/engine/values/numbers"},
	"engine/enginetest":     {"limitsrv/engine"},
	"engine/siphash":        {},
	"engine/slots":          {},
	"engine/topk":           {},
	"engine/values":         {"limitsrv/engine/siphash", "limitsrv/engine/values/numbers"},
	"engine/values/numbers": {},
	"internal/beat":         {},
	"internal/certs":        {"limitsrv/internal/files"},
	"internal/fatal":        {},
	"internal/files":        {},
	"internal/histogram":    {},
	"internal/invariants":   {},
	"internal/loglimit":     {},
	"internal/pace":         {},
	"internal/respclient":   {},
	"internal/status":       {},
	"internal/strictjson":   {},
	"internal/testing/browser": {
		"limitsrv/internal/testing/testwait", "github.com/chromedp/cdproto", "github.com/chromedp/chromedp",
	},
	"internal/testing/faultnet": {},
	"internal/testing/freeport": {},
	"internal/testing/redistest": {
		"limitsrv/internal/testing/freeport", "limitsrv/internal/testing/testwait",
	},
	"internal/testing/simtest": {
		"limitsrv/commands/calls", "limitsrv/commands/datatypes", "limitsrv/commands/reservations",
		"limitsrv/commands/rules", "limitsrv/commands/rules/checks", "limitsrv/commands/rules/live",
		"limitsrv/commands/rules/source", "limitsrv/commands/rules/stored",
		"limitsrv/commands/scripts", "limitsrv/commands/spec", "limitsrv/commands/spec/spectest",
		"limitsrv/engine", "limitsrv/engine/answer", "github.com/anishathalye/porcupine",
		"github.com/cockroachdb/pebble/v2/vfs",
	},
	"internal/testing/testwait": {},
	"internal/yamlfile":         {"limitsrv/internal/pace", "go.yaml.in/yaml/v3"},
	"persist": {
		"limitsrv/engine", "limitsrv/internal/beat", "limitsrv/internal/fatal", "limitsrv/internal/invariants",
		"limitsrv/internal/pace", "limitsrv/internal/status", "limitsrv/persist/commit",
		"github.com/cockroachdb/pebble/v2", "github.com/hashicorp/go-hclog", "github.com/hashicorp/raft",
		"github.com/hashicorp/raft-wal",
	},
	"persist/commit": {"limitsrv/engine"},
	"replication": {
		"limitsrv/engine", "limitsrv/engine/slots", "limitsrv/internal/certs", "limitsrv/internal/histogram",
		"limitsrv/internal/loglimit", "limitsrv/internal/status", "limitsrv/internal/turns", "limitsrv/persist",
		"limitsrv/persist/commit", "limitsrv/replication/batch", "limitsrv/replication/broadcast",
		"limitsrv/replication/election", "limitsrv/replication/forward", "limitsrv/replication/fsm",
		"limitsrv/replication/lease", "limitsrv/replication/link", "limitsrv/replication/raftfix",
		"limitsrv/replication/fronts", "limitsrv/replication/storage", "limitsrv/replication/undecided",
		"github.com/cockroachdb/pebble/v2/vfs", "github.com/hashicorp/go-hclog", "github.com/hashicorp/raft",
	},
	"replication/batch": {
		"limitsrv/engine", "limitsrv/persist", "limitsrv/persist/commit", "limitsrv/replication/forward",
		"limitsrv/replication/storage",
	},
	"replication/broadcast": {"limitsrv/replication/link"},
	"replication/election":  {"github.com/hashicorp/raft"},
	"replication/forward": {
		"limitsrv/engine", "limitsrv/engine/answer", "limitsrv/persist", "limitsrv/replication/link",
	},
	"replication/fsm": {
		"limitsrv/engine", "limitsrv/internal/invariants", "limitsrv/persist", "limitsrv/replication/link",
		"limitsrv/replication/raftfix", "github.com/hashicorp/raft",
	},
	"replication/front": {
		"limitsrv/engine", "limitsrv/internal/certs", "limitsrv/internal/loglimit", "limitsrv/internal/status",
		"limitsrv/replication/batch", "limitsrv/replication/broadcast", "limitsrv/replication/forward",
		"limitsrv/replication/fronts", "limitsrv/replication/link", "limitsrv/replication/storage",
		"limitsrv/replication/undecided",
	},
	"replication/fronts": {
		"limitsrv/engine", "limitsrv/engine/topk", "limitsrv/internal/status", "limitsrv/replication/link",
		"limitsrv/replication/storage",
	},
	"replication/lease": {},
	"replication/link": {
		"limitsrv/internal/certs", "limitsrv/internal/files", "limitsrv/internal/loglimit", "limitsrv/persist",
		"github.com/hashicorp/raft",
	},
	"replication/link/linktest": {"limitsrv/internal/certs"},
	"replication/offline": {
		"limitsrv/engine", "limitsrv/persist", "limitsrv/replication/fsm", "limitsrv/replication/link",
		"limitsrv/replication/raftfix", "limitsrv/replication/storage", "github.com/cockroachdb/pebble/v2/vfs",
		"github.com/hashicorp/raft",
	},
	"replication/raftfix": {
		"limitsrv/persist", "limitsrv/replication/lease", "github.com/hashicorp/go-hclog",
		"github.com/hashicorp/raft",
	},
	"replication/storage": {
		"limitsrv/internal/histogram", "limitsrv/persist", "limitsrv/replication/fsm",
		"limitsrv/replication/link", "limitsrv/replication/raftfix", "github.com/cockroachdb/pebble/v2/vfs",
		"github.com/hashicorp/go-hclog", "github.com/hashicorp/raft", "github.com/hashicorp/raft-boltdb/v2",
		"go.etcd.io/bbolt",
	},
	"replication/undecided": {"limitsrv/engine"},
	"server": {
		"limitsrv/commands/auth", "limitsrv/commands/resp", "limitsrv/commands/session",
		"limitsrv/internal/beat", "limitsrv/internal/fatal",
	},
	"server/access": {"limitsrv/commands/auth", "limitsrv/commands/resp"},
	"server/admin": {
		"limitsrv/commands", "limitsrv/commands/auth", "limitsrv/commands/limiters", "limitsrv/commands/resp",
		"limitsrv/commands/rules", "limitsrv/commands/rules/checks", "limitsrv/commands/rules/live",
		"limitsrv/commands/session", "limitsrv/engine", "limitsrv/engine/topk", "limitsrv/internal/beat",
		"limitsrv/internal/histogram",
		"limitsrv/internal/status", "limitsrv/internal/strictjson", "limitsrv/server", "limitsrv/server/access",
		"github.com/prometheus/client_golang/prometheus",
	},
	"server/admin/page": {"limitsrv/docs", "limitsrv/engine"},
	"server/events":     {"limitsrv/internal/files"},
	"server/rls": {
		"limitsrv/commands/auth", "limitsrv/commands/limiters", "limitsrv/commands/resp", "limitsrv/commands/rules",
		"limitsrv/commands/rules/checks", "limitsrv/commands/rules/source", "limitsrv/commands/session",
		"limitsrv/engine", "limitsrv/internal/beat", "limitsrv/server", "limitsrv/server/access",
		"limitsrv/server/rls/envoy", "google.golang.org/grpc",
	},
	"server/rls/envoy": {
		"limitsrv/commands/resp", "limitsrv/commands/rules", "limitsrv/commands/rules/checks", "limitsrv/engine",
		"limitsrv/internal/strictjson", "google.golang.org/protobuf/encoding/protowire",
	},
	"tools/bench": {
		"limitsrv/internal/pace", "limitsrv/internal/respclient", "limitsrv/internal/testing/faultnet",
		"limitsrv/internal/testing/freeport", "github.com/google/pprof/profile", "golang.org/x/sync/errgroup",
	},
}
