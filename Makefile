# Everything a newcomer needs: `make demo` and `make test`. Both install what is missing first.
MUSTER := target/debug/muster

.PHONY: demo demo-wagtail accname attacks test build lint bench needs

demo: build ## the shop's suite twice over two nodes: recorded, then replayed with no decision
	@examples/demo.sh $(MUSTER) shop 12

demo-wagtail: build ## the same on a real Wagtail
	@deploy/install.sh wagtail
	@examples/demo.sh $(MUSTER) wagtail 4

test: needs ## all tests
	cargo test --workspace --locked
	@$(MAKE) --no-print-directory attacks

attacks: needs ## every attack: held with its guard, and falls without it
	cargo test --locked --workspace --features muster-agent-node/switches --test attacks -- --nocapture

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

needs:
	@deploy/install.sh
