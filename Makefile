# The commands that people run all the time; CONTRIBUTING.md says when.

GO          ?= go
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null)
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME    ?= 10s
KILLS       ?= 200
SEED        ?= 1
FAULTS      ?=
POLITE      ?= polite
SEEDS       ?= 3
NEMESIS     ?=
LONG        ?=
FAILOVER    ?=
REPLICATED  ?=
COOPERATE   ?=
PKG         ?= ./overlay
FILES       ?=

.PHONY: run build test race lint fuzz mutants bench cooperate cover crash crash-seeds failover nemesis nemesis-proof polite replicated proto

run: ## a node on ./corona-data
	$(GO) run ./cmd/corona serve

build: ## the binary, stamped with its version, in bin/
	$(GO) build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/corona ./cmd/corona

test:
	$(GO) test ./...

race:
	$(GO) test -race ./...

lint: ## formatting, vet, staticcheck with staticcheck.conf
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'gofmt would change these files'; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

fuzz: ## every fuzz target for FUZZTIME each
	@FUZZTIME=$(FUZZTIME) GO=$(GO) sh .ci/fuzz

mutants: ## plants faults in a package, and says which of them its tests do not catch: PKG=./deltas/judge FILES=judge.go,noise.go
	$(GO) run ./benchmarks/mutants -files '$(FILES)' $(PKG)

bench: ## every micro-benchmark, in benchstat's form
	$(GO) test -run '^$$' -bench . -benchmem -count 6 ./...

cover:
	$(GO) test -coverprofile cover.out ./... && $(GO) tool cover -func cover.out | tail -n 1

crash: ## a real process, ended KILLS times under load by kills and FAULTS of its disk; prints its seed
	$(GO) run ./benchmarks/crash -kills $(KILLS) -seed $(SEED) -faults '$(FAULTS)'

crash-seeds: ## 20 rounds each with SEEDS=30 seeds, some at a time on a loaded machine; benchmarks/crash/seeds.sh has more
	@benchmarks/crash/seeds.sh

nemesis: ## three nodes in network namespaces beside faults, judged by histories: SEEDS seeds from SEED on, or LONG=2h of nodes that come and go; wants root and iproute2
	$(GO) run ./benchmarks/nemesis -seed $(SEED) $(if $(LONG),-long $(LONG),-seeds $(SEEDS)) $(NEMESIS)

failover: ## how long writes wait after a node is killed, suspended, cut off, or all are killed
	$(GO) run ./benchmarks/failover -seed $(SEED) $(FAILOVER)

cooperate: ## five nodes that poll the same channels, judged at the origin: COOPERATE='-faults' or '-width', '-beside'; wants root and iproute2
	$(GO) run ./benchmarks/cooperate -seed $(SEED) $(COOPERATE)

nemesis-proof: ## plants the bugs of docs/planted-bugs.md, each of which its test has to catch within 60 s
	@GO=$(GO) .ci/nemesis-proof

polite: ## a node beside sick hosts, judged at the origin: POLITE=polite-kills kills it meanwhile
	$(GO) run ./cmd/corona loadgen run $(POLITE) --set seed=$(SEED)

replicated: ## commits a second of three nodes, beside etcd's and a raft-boltdb file per group; REPLICATED='-rounds 1 -time 5s'
	$(GO) run ./benchmarks/replicated -ranges 64 -replicas 3 $(REPLICATED)

proto: ## generated code of the replicated log's commands
	$(GO) generate ./ownership/internal/wire
