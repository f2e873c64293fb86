# make         builds ./limitsrv, or OUT=file, and prints its version and size
# make run     runs it; ARGS="--max-memory 1gb" are its options
# make test    installs the programs that the tests need, then runs all checks; UNITTIME
#              bounds the tests of one package, with a margin for a busy machine
# make quick   checks while one works: format, vet, and the short unit tests, without the
#              race detector; it installs nothing. It takes three minutes of processor
#              time after a change that all packages see, a minute after a small one, and
#              ten minutes or more on two processors when Go's build cache is empty
# make bench   measures it beside Redis; ARGS="-only growth" are its options
# make profile profiles the server under the loads of the benchmark, for the compiler: go build
#              optimises by cmd/limitsrv/default.pgo, which it writes; after a large change of
#              a hot path
# make fuzz    searches new inputs with every fuzz target for FUZZTIME, a number of runs
#              such as 30000x; with a duration such as 10m go test may report a failure at
#              its end; a failure prints the file of its input, which is committed with its
#              cure: make test runs the files in testdata/fuzz and searches no others
# make sim     runs simulated nodes for NODEHOURS and simulated clusters for SIMHOURS of
#              virtual time, a process for each processor, with random seeds, or the seeds
#              from FIRST on, as make test does; a failure prints the command that repeats it
# make compare compares with redis-server, for longer than make test: LINES random command
#              lines on plain values, and PROGRAMS random programs of Lua; a failure prints
#              its seed
# make gateways runs gateways for GATEWAYTIME, with 1000 streams that reserve from quotas of a cluster,
#              kills gateways and leaders, and compares the quotas with the histories
# make portable runs the tests of results that are the same on all processors: on this one as
#              amd64-v3, whose compiler fuses products, and under qemu as arm64 and s390x
# make walk    clones the last commit, pastes the README's first blocks into a shell, and
#              prints the seconds to the first denied request
# make walks   runs this walk and four others: two limits in an application, restarts of the
#              server, a rollback of rules, and the symptoms of docs/troubleshooting.md; it
#              prints a table of steps, seconds and wrong turns
# make release makes archives for linux on amd64 and arm64 in dist/
# make help    prints all targets

ARGS ?=
OUT ?= limitsrv
FUZZTIME ?= 5000x
SIMHOURS ?= 30
NODEHOURS ?= 30
FIRST ?=
LINES ?= 1000000
PROGRAMS ?= 100000
GATEWAYTIME ?= 10m
UNITTIME ?= 60m
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.8.0
VULNDB ?= https://vuln.go.dev

# The seeds of random tests are fixed, so that a check fails because of a change and not by
# chance; TEST_SEED=random RAPID_SEED=0 make unit takes others.
export RAPID_SEED ?= 1

# The checks of make test, in order; the first that fails ends it.
CHECKS = format vet staticcheck vulnerabilities unit deploy sim build smoke clients walks limiters

.PHONY: help walk build run test quick bench profile fuzz compare gateways portable release needs $(CHECKS)

build:
	@.ci/build $(OUT)
	@version=$$($(abspath $(OUT)) --version 2>/dev/null) || version="limitsrv for $$(go env GOOS)/$$(go env GOARCH)"; \
	echo "built $(OUT): $$version, $$(wc -c <$(OUT) | awk '{ printf "%.1f MB", $$1 / 1e6 }')"

help:
	@sed -n '/^#/!q; s/^# //p' Makefile

run:
	go run ./cmd/limitsrv $(ARGS)

bench:
	go run ./tools/bench $(ARGS)

profile:
	go run ./tools/bench -only profile -duration 4s -profile cmd/limitsrv/default.pgo

# The lines are of seven families of commands. The sources that are compiled and the
# scripts on data are twice as many as the programs.
compare:
	go test ./commands/datatypes -run '^TestLikeRedis$$' -count 1 -v -timeout 10h -redis-commands $$((($(LINES) + 6) / 7)) -redis-seed $$(date +%s)
	go test ./commands/scripts/lua -run '^TestGenerated.*SameAsRedis$$' -count 1 -v -timeout 10h -redis-programs $(PROGRAMS) -redis-seed $$(date +%s)

gateways:
	go test ./cmd/limitsrv -run '^TestGateways$$' -count 1 -v -timeout 10h -gateways-streams 250 -gateways-time $(GATEWAYTIME)

portable:
	@.ci/portable

release:
	@.ci/release

# No test may skip because a program is missing.
test: export TEST_COMPLETE = 1
test: needs
	@for check in $(CHECKS); do \
		echo "== $$check"; begin=$$(date +%s); \
		$(MAKE) --no-print-directory FIRST=1 $$check || { echo "== $$check FAILED"; exit 1; }; \
		echo "== $$check took $$(($$(date +%s) - begin)) s"; \
	done
	@echo "== all passed"

quick: format vet
	go test -pgo=off -short -p 4 ./...

needs:
	@.ci/needs

format:
	@files=$$(gofmt -l .) && test -z "$$files" || { echo "gofmt would change: $$files"; exit 1; }

# Without the profile vet compiles what the tests compile, and not each package once more.
vet:
	go vet -pgo=off ./...
	cd clients/go && go vet ./...

staticcheck:
	go run $(STATICCHECK) ./...

# Known vulnerabilities in the dependencies of the server. If the database VULNDB can't
# be reached, the check prints so and passes.
vulnerabilities:
	@dir=$$(mktemp -d) && trap 'rm -r "$$dir"' EXIT && \
	GOBIN=$$dir go install $(GOVULNCHECK) && \
	if "$$dir/govulncheck" -db $(VULNDB) ./cmd/limitsrv 2>"$$dir/problem"; then exit 0; fi; \
	cat "$$dir/problem"; \
	grep -q 'fetching vulnerabilities' "$$dir/problem" && echo "NOT SCANNED: $(VULNDB) can't be reached"

# Long tests of sequential code, which testwait.Sequential skips under the race detector,
# are run without it. Tests are not optimised by the profile, which takes minutes to compile.
unit:
	@list=$$(.ci/sequential) || exit 1; \
	tests=$$(echo "$$list" | cut -d ' ' -f 2 | paste -sd '|'); \
	packages=$$(echo "$$list" | cut -d ' ' -f 1 | sort -u); \
	echo go test -run "'^($$tests)\$$'" $$packages; \
	go test -pgo=off -timeout $(UNITTIME) -run "^($$tests)\$$" $$packages
	@.ci/race -pgo=off -p 3 -timeout $(UNITTIME)

# The files for Compose and Kubernetes, the chart for Helm, and the configuration of Envoy in
# docs, by the types of these projects.
deploy:
	cd deploy/check && go vet ./... && go test ./...

sim:
	@dir=$$(mktemp -d) && trap 'rm -r "$$dir"' EXIT && n=$$(nproc) && \
	first=$(or $(FIRST),$$(date +%s%N)) && \
	for job in "persist $(NODEHOURS)" "replication $(SIMHOURS)"; do \
		set -- $$job; go test -c -o "$$dir/$$1" ./$$1 && cd $$1 || exit 1; pids=; \
		hours=$$((($$2 + n - 1) / n)); \
		for i in $$(seq "$$n"); do \
			GOMAXPROCS=1 GOGC=400 "$$dir/$$1" -test.run '^TestSim$$' -test.timeout $(UNITTIME) \
				-sim-hours $$hours -sim-first $$((first + (i - 1) * 2 * hours)) & pids="$$pids $$!"; \
		done; \
		for pid in $$pids; do wait "$$pid" || failed=1; done; cd ..; \
	done; test -z "$$failed"

fuzz:
	@dir=$$(mktemp -d) && trap 'rm -r "$$dir"' EXIT && cache=$$(go env GOCACHE)/fuzz && \
	for folder in $$(grep -rl --include=*_test.go '^func Fuzz' . | xargs -n 1 dirname | sort -u); do \
		package=$$(go list $$folder) && go test -c -fuzz . -o "$$dir/test" $$package && cd $$folder || exit 1; \
		for target in $$("$$dir/test" -test.list '^Fuzz'); do \
			echo "$$package $$target"; \
			"$$dir/test" -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 1x \
				-test.fuzzcachedir "$$cache/$$package" && continue; \
			find "testdata/fuzz/$$target" -newer "$$dir/test" -type f -print -exec cat {} \; 2>/dev/null; exit 1; \
		done; cd "$(CURDIR)"; \
	done

walk:
	@.ci/walks first

walks:
	@.ci/walks

smoke:
	go run ./tools/bench -quick

clients:
	clients-test/run $(CLIENTS)

# The random calls of their scripts are the same at each run; LIMITERS="-seed N" makes others.
limiters:
	cd clients-test/limiters && go vet . && go test .
	clients-test/limiters/run -document ../../docs/limiters.md -seed 1 $(LIMITERS)
