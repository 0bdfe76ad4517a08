# The single entry point: `make help`. CI calls only these targets.
CARGO ?= cargo
# The heavy drivers, each a feature of the service and of its connectors. The program names only `kafka` itself.
DRIVERS = es mongo smtp sql storage

# What is not installed links the OpenSSL of the system where its headers are: to build one takes minutes. A release carries
# its own. Give cargo the same value by hand, or it builds anew what depends on it.
export OPENSSL_NO_VENDOR := $(shell pkg-config --exists 'openssl >= 3' 2>/dev/null && echo 1 || echo 0)
install drill-rolling drill-backtest drill-rollouts drill-operate drill-webhooks attack bench bench-peers prices console-speed plugin-guests: export OPENSSL_NO_VENDOR = 0

.DEFAULT_GOAL := help
.PHONY: help console check-console demo run install test test-kafka-broker api-clients api-requests channel-requests channel-clients cloudevents-sdks webhook-clients plugin-guests tls-probes fuzz console-browser console-speed sign-in-browser monitoring schedules drill-cron drill-cluster drill-rolling drill-kafka drill-backtest mutations drill-rollouts drill-operate drill-webhooks drill-alerts drill-submissions attack lint features fmt bench bench-peers prices budget doc manual manual-check deny

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; do printf '  %-17s %s\n' "$$name" "$$text"; done

console: ## build the page of the console, console/dist, which the next build of the service embeds (needs npm; without it, one line says so)
	@if ! command -v npm >/dev/null 2>&1; then echo "npm is not installed: the service is built without the page of the console"; \
	elif [ ! -f console/package.json ]; then echo "there is no console/package.json: the service is built without the page of the console"; \
	else cd console && npm ci --silent --no-audit --no-fund && npm run --silent build; fi

check-console: ## types, sizes and logic of the page of the console; two builds of it have the same bytes (needs npm)
	@cd console && npm ci --silent --no-audit --no-fund && npm run --silent check && npm test --silent

# What is older than its sources is built anew; a registry that is away does not keep the demo from running.
console/dist/index.html: $(shell git ls-files -- console 2>/dev/null)
	@$(MAKE) --no-print-directory console || echo "the console was not built: the service is built without its page"

demo: console/dist/index.html ## build the service without the heavy drivers, the page at /docs and the export of spans, load examples/quickstart, post an order, keep serving (DEMO_EXIT=1: end after the answer)
	$(CARGO) build --profile demo --no-default-features --features svc/console -p svc --bin svc-server -p svc-testkit --bin demo
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	"$$target/demo/demo" "$$target/demo/svc-server" examples/quickstart

run: ## start the service with its defaults (SVC_CONFIG=file.toml: with a configuration)
	$(CARGO) run -p svc --bin svc-server -- $(if $(SVC_CONFIG),-c $(SVC_CONFIG))

install: console ## build the release and put both programs, completions and manual pages under PREFIX, by default /usr/local (DESTDIR=dir: a root for packagers)
	$(CARGO) build --release -p svc --bin svc-server -p svc-cli --bin svc-cli
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	deploy/package/install "$$target/release" "$(or $(PREFIX),/usr/local)"

test: ## every test; installs or finds what they need
	@tests/run

test-kafka-broker: ## Kafka channels against a real broker: plain, TLS, client certificates, SCRAM; builds the broker the first time, a quarter of an hour
	tests/peers/kafka ensure
	SVC_TEST_REQUIRE=all $(CARGO) test -q --workspace --test scenarios -- --ignored kafka::broker

api-clients: ## clients that public generators make of the OpenAPI document drive the service (needs npm and PyPI)
	$(CARGO) build -p svc --bin svc-server
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	tests/api_clients/run "$$target/debug/svc-server"

api-requests: ## some twenty thousand requests made of the OpenAPI document, each answer checked against it (needs PyPI; EXAMPLES=n, SEED=n)
	$(CARGO) build -p svc --bin svc-server
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	tests/api_clients/requests "$$target/debug/svc-server" $(or $(EXAMPLES),280) $(or $(SEED),1)

channel-requests: ## requests made of the OpenAPI document of the channels of examples/orders, each answer checked against it (needs PyPI, PostgreSQL and Redis; EXAMPLES=n, SEED=n)
	$(CARGO) build -p svc --bin svc-server
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	tests/api_clients/channels "$$target/debug/svc-server" $(or $(EXAMPLES),200) $(or $(SEED),1)

channel-clients: ## clients that public generators make of the OpenAPI document of the channels of examples/orders drive them (needs npm, PyPI, PostgreSQL and Redis)
	$(CARGO) build -p svc --bin svc-server
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	tests/api_clients/orders "$$target/debug/svc-server"

cloudevents-sdks: ## events to and from the CloudEvents SDKs for Python and JavaScript (needs npm and PyPI)
	$(CARGO) build -p svc --bin svc-server
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	tests/cloudevents_sdks/run "$$target/debug/svc-server"

webhook-clients: ## webhooks to and from the libraries of Standard Webhooks, Stripe, GitHub, Slack and Shopify (needs npm and PyPI)
	$(CARGO) build -p svc --bin svc-server
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	tests/webhook_clients/run "$$target/debug/svc-server"

plugin-guests: ## plugins in JavaScript, Python and C, built, called through the service and promoted to another, on an optimised binary; the own time of a call beside its aim (needs npm, PyPI, clang and wasi-libc; SERVER=file: that binary, svc-cli beside it)
ifndef SERVER
	$(CARGO) build --release -p svc -p svc-cli --bin svc-server --bin svc-cli
endif
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	tests/plugins/run "$(or $(SERVER),$$target/release/svc-server)"

tls-probes: ## testssl.sh against the TLS of the service: old protocols, weak ciphers, known attacks (needs Debian's testssl.sh)
	$(CARGO) build -p svc --bin svc-server
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	tests/tls_probes/run "$$target/debug/svc-server"

console-browser: ## the console in Chromium: every view and act, by keyboard, among hostile names, over restarts (needs Chromium and npm; CASES="live acts": those alone; PICTURES=folder: pictures of every view)
	$(CARGO) build -p svc --bin svc-server
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	SVC_CONSOLE_CASES="$(CASES)" SVC_CONSOLE_PICTURES="$(abspath $(PICTURES))" tests/console/run "$$target/debug/svc-server"

console-speed: ## the speed of the console beside its aims, on an optimised binary: first view, frames, streams; exit 1 if one is missed (needs Chromium, npm and sqlite3; SERVER=file: that binary; PARTS="frames streams": those alone)
ifndef SERVER
	$(CARGO) build --release -p svc --bin svc-server
endif
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	tests/console/speed/run "$(or $(SERVER),$$target/release/svc-server)" $(PARTS)

sign-in-browser: ## people sign in with Chromium: consent given and refused, two clients, two nodes, ways back that are tampered with (needs Chromium and npm)
	$(CARGO) build -p svc --bin svc-server
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	tests/sign_in_browser/run "$$target/debug/svc-server"

fuzz: ## a million mutated requests, and as many tokens, against the credential checks (SVC_FUZZ_REQUESTS=n: another number)
	SVC_FUZZ_REQUESTS=$${SVC_FUZZ_REQUESTS:-1000000} $(CARGO) test -q -p svc-auth --test auth mutated -- --nocapture

schedules: ## random schedules over ten years in every time zone against a second implementation; their pace (SVC_SCHEDULE_ROUNDS=n)
	SVC_SCHEDULE_ROUNDS=$${SVC_SCHEDULE_ROUNDS:-100} $(CARGO) test -q --release -p svc-schedule --test schedule -- --nocapture sweep pace

monitoring: ## alert rules and dashboards against promtool, and every query of them against a real Prometheus that scrapes the service (needs Debian's prometheus)
	tests/peers/ensure promtool prometheus
	SVC_TEST_REQUIRE=all $(CARGO) test -q --workspace --test scenarios -- monitoring::

drill-cron: ## schedules under fire: three nodes, one killed every two seconds, a witness as judge (OCCURRENCES=n, by default 10000)
	$(CARGO) build -p svc --bin svc-server -p svc-drills --bin drill-cron
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	"$$target/debug/drill-cron" "$$target/debug/svc-server" $(or $(OCCURRENCES),10000) "$$target/drill-cron.json"

drill-cluster: ## a cluster under fire: three nodes killed, stopped and restarted under load and changes, a witness as judge (SECONDS=n, by default 300; PREVIOUS=file: beside the svc-server of the release before, 0.1.0 or later)
	$(CARGO) build -p svc --bin svc-server -p svc-drills --bin drill-cluster
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	"$$target/debug/drill-cluster" "$$target/debug/svc-server" $(or $(SECONDS),300) "$$target/drill-cluster.json" $(PREVIOUS)

drill-rolling: ## restart three nodes in turn under load behind a load balancer, on an optimised binary: no request may fail (RATE=n requests a second, by default 2000; PREVIOUS=file: from the svc-server of the release before, 0.1.0 or later)
	$(CARGO) build --release -p svc --bin svc-server
	$(CARGO) build --no-default-features -p svc-drills --bin drill-cluster
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	"$$target/debug/drill-cluster" "$$target/release/svc-server" rolling=$(or $(RATE),2000) "$$target/drill-rolling.json" $(PREVIOUS)

drill-kafka: ## records under fire: three processes of one group, killed and stopped, brokers that fail, a witness as judge (RECORDS=n, by default 50000)
	$(CARGO) build -p svc --bin svc-server -p svc-drills --bin drill-kafka
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	"$$target/debug/drill-kafka" "$$target/debug/svc-server" $(or $(RECORDS),50000) "$$target/drill-kafka.json"

drill-backtest: ## a draft with a changed rule over stored runs, on an optimised binary, without load and beside 1,000 requests a second: exactly the runs that differ, nothing called (RUNS=n, by default 10000; RATE=n)
	$(CARGO) build --release -p svc --bin svc-server
	$(CARGO) build --no-default-features -p svc-drills --bin drill-backtest
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	"$$target/debug/drill-backtest" "$$target/release/svc-server" $(or $(RUNS),10000) $(or $(RATE),1000) "$$target/drill-backtest.json"

mutations: ## mutate the workflows of the examples: those that a backtest over recorded traffic notices, next to those that their cases notice (needs PostgreSQL; MUTATIONS=n, by default 100; SEED=n)
	$(CARGO) build -p svc --bin svc-server -p svc-cli --bin svc-cli
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	tests/mutations/run "$$target/debug/svc-server" "$$target/debug/svc-cli" --mutations $(or $(MUTATIONS),100) --seed $(or $(SEED),1) --report "$$target/mutations.json"

drill-rollouts: ## canaries under load on two nodes, on an optimised binary: worse ones stop themselves, innocent ones are promoted, the deciding node is killed at each step, clients as judge (RATE=n requests a second, by default 1000; CASES="slow innocent-1 …": those alone)
	$(CARGO) build --release -p svc --bin svc-server
	$(CARGO) build --no-default-features -p svc-drills --bin drill-rollouts
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	"$$target/debug/drill-rollouts" "$$target/release/svc-server" $(or $(RATE),1000) "$$target/drill-rollouts.json" $(CASES)

drill-operate: ## orders of operators at full size, on an optimised binary: bulk runs, pauses, shares, delays, repeats, quotas, webhooks and fan-outs on three nodes, some killed, a witness as judge (SECTIONS="bulk=n pause=n shares=n later=n repeats=n quotas=n webhooks=n elements=n": those alone; letters, requests a second, jobs of the flood, jobs due a second, requests with one key, the limit, events a round, elements of a list)
	$(CARGO) build --release -p svc --bin svc-server
	$(CARGO) build -p svc-drills --bin drill-operate
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	ulimit -n $$(ulimit -Hn) || true; \
	"$$target/debug/drill-operate" "$$target/release/svc-server" $(SECTIONS)

drill-webhooks: ## webhooks to 1,000 endpoints on three nodes, on an optimised binary: all well, a tenth dead, slow or lying, then nodes killed too; the endpoints as judge (EVENTS=n a round, by default 100: 100,000 deliveries)
	$(CARGO) build --release -p svc --bin svc-server
	$(CARGO) build -p svc-drills --bin drill-operate
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	ulimit -n $$(ulimit -Hn) || true; \
	"$$target/debug/drill-operate" "$$target/release/svc-server" webhooks=$(or $(EVENTS),100)

drill-alerts: ## each alert is caused on a live server and fires in a real Prometheus, and others only if its page names them (needs Debian's prometheus, PostgreSQL and Redis; ALERTS="SvcDown …": those alone; PREVIOUS=file: an svc-server of another build)
	$(CARGO) build -p svc --bin svc-server -p svc-bench --bin brokers
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	tests/alerts/run $(if $(PREVIOUS),--previous $(PREVIOUS)) "$$target/debug/svc-server" "$$target/debug/brokers" $(ALERTS)

drill-submissions: ## submissions that begin before their row is on disk, in processes killed at every step on their way, a witness as judge (KILLS=n, by default 10000)
	SVC_TEST_KILLS=$(or $(KILLS),10000) $(CARGO) test -q --workspace --test scenarios -- --nocapture killed_submissions

attack: ## the attacks that once broke a promise, a verdict a line, on an optimised binary (NAMES="stop cpu": those alone; CALLS=n: so many calls of plugins, by default 100000; theirs need npm and PyPI)
	tests/peers/ensure wrk || true
	$(CARGO) build --release -p svc --bin svc-server
	$(CARGO) build --no-default-features -p svc-drills --bin attack
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	SVC_ATTACK_CALLS=$(CALLS) "$$target/debug/attack" "$$target/release/svc-server" full $(NAMES)

# rustdoc with the examples: dependencies then have the features with which clippy has checked them.
lint: ## rustfmt, clippy, rustdoc: all without a warning
	$(CARGO) fmt --all --check
	$(CARGO) clippy -q --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc -q --workspace --no-deps --lib --bins --examples

features: ## check the service without its features, with those that its own code names, and the connectors with each driver alone
	$(CARGO) check -q -p svc --no-default-features
	$(CARGO) check -q -p svc --no-default-features --features console,docs,kafka
	@for feature in $(DRIVERS); do echo "$(CARGO) check -p svc-connectors --features $$feature"; $(CARGO) check -q -p svc-connectors --no-default-features --features $$feature || exit 1; done

fmt: ## format the sources
	$(CARGO) fmt --all

bench: ## measure beside a bare actix-web handler, in one run (PART=traces|submissions|latency|slow-disk|credentials|guards|shadows|population|prices|admin|tls|engine|connectors|plugins|kafka|cron|cluster|project|soak|soak-kafka)
	@bench/run $(PART)

bench-peers: ## measure the release beside n8n, Node-RED, graphile-worker, pg-boss and procrastinate (needs npm, PyPI, wrk and PostgreSQL; PARTS="http queues": those alone)
	$(CARGO) build --release -p svc --bin svc-server
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	bench/peers/run "$$target/release/svc-server" $(PARTS)

prices: ## measure the price list of docs/scaling.md: processor time of each guard, credential, mode of traces and call of a connector
	@SVC_BENCH_PRICES=bench/prices.json bench/run prices connectors
	UPDATE_GOLDEN=1 $(CARGO) test -q --workspace --test service -- reference::prices

budget: ## count the instructions of the hot paths; a case that costs 5 % more than bench/budget.txt fails
	@bench/budget

doc: ## the API documentation of every crate
	$(CARGO) doc --workspace --no-deps

manual: ## the manual as a book with an offline search, its pages as text, llms.txt: target/manual/book (the first time builds mdBook into the user's cache)
	@MDBOOK="$$(tests/peers/mdbook)" || exit 1; export MDBOOK; \
	target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	docs/make-book "$$target/manual"

manual-check: ## run the tutorial and the recipes word for word against this build, and compare what the pages show (PAGES="tutorial.md": those alone)
	$(CARGO) build -p svc --bin svc-server -p svc-cli --bin svc-cli
	@target=$$($(CARGO) metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'); \
	tests/manual/run "$$target/debug" $(PAGES)

deny: ## licences, banned crates, sources; installs cargo-deny where it is missing
	@$(CARGO) deny --version >/dev/null 2>&1 || CARGO_PROFILE_DEV_DEBUG=false $(CARGO) install --quiet --locked --debug cargo-deny
	$(CARGO) deny --log-level error check licenses bans sources

include deploy/deploy.mk
