# Everything a newcomer needs: `make demo` and `make test`. Both install what is missing first.
MUSTER := target/debug/muster

.PHONY: demo demo-remote demo-wagtail accname attacks canary test build lint bench bench-redact bench-tokens bench-decide test-llm needs

demo: build ## the shop's suite twice over two nodes: recorded, then replayed with no decision
	@examples/demo.sh $(MUSTER) shop 12

demo-remote: build ## goals reached by a program in Python: recorded, then replayed without it
	@deploy/install.sh python
	@examples/remote-executor/run.sh $(MUSTER)

demo-wagtail: build ## the same on a real Wagtail
	@deploy/install.sh python
	@examples/demo.sh $(MUSTER) wagtail 4

test: needs ## all tests
	cargo test --workspace --locked
	@$(MAKE) --no-print-directory attacks canary

# Both build with the same features, so that nothing is built twice. The guards of these builds can be
# lifted: `make build` makes the binary for users again.
SWITCHES := cargo test --locked --workspace --features muster-agent-node/switches,muster/switches

attacks: needs ## every attack: held with its guard, and falls without it
	$(SWITCHES) --test attacks -- --nocapture

canary: needs ## searches everything that a run writes or sends for its secrets
	$(SWITCHES) --test canary -- --nocapture --test-threads=1

build: needs ## the muster binary
	cargo build --locked -p muster

lint: needs ## formatting, clippy, licences and bans
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	@if command -v cargo-deny >/dev/null; then cargo deny --log-level error check bans licenses sources; else echo "cargo-deny is not installed: licences and bans were not checked (cargo install --locked cargo-deny)"; fi

accname: needs ## the score of `muster snapshot` on the Web Platform Tests' names, which lie in ../shared
	cargo test --locked -p muster --test stories accname -- --nocapture

bench: build ## side-by-side benchmarks
	@bench/run.sh $(MUSTER)

bench-redact: ## the redactor's speed, release build; fails below what is promised
	@cargo bench --quiet --locked -p muster-redact --bench throughput

bench-tokens: build ## what a goal sends to a model, beside @playwright/mcp; needs Node.js 20 and npm
	@bench/tokens/run.sh $(MUSTER)

bench-decide: build ## the decision executor on 40 MiniWoB tasks, by gate; needs Python 3 with venv
	@bench/miniwob/decide.sh $(MUSTER)

test-llm: build ## a small real model drives the agent on MiniWoB; the first run builds it, about 6 minutes
	@bench/llm/run.sh $(MUSTER)

needs:
	@deploy/install.sh
