# SPDX-License-Identifier: GPL-2.0-only
# Tests. What each kind of suite is, tests/run says: `tests/run --help`.

TESTS_RUN := tests/run --build $(B) $(if $(ONLY),--only $(ONLY)) $(if $(filter 1,$(STRICT)),--strict)
EVERYDAY  := unit fuzz probe bats interop kit

# Every tests/unit/test_NAME.c is a cmocka program of its own; the other .c files there are shared by all.
unit_srcs := $(wildcard tests/unit/test_*.c)
unit_bins := $(patsubst tests/unit/%.c,$(B)/tests/%,$(unit_srcs))
unit_help := $(filter-out $(unit_srcs),$(wildcard tests/unit/*.c))
UNIT_FLAGS = $(HDF5_CFLAGS) $(JSON_CFLAGS) -Itests/unit -DTESTS_DIR='"$(CURDIR)/tests"'

.PHONY: unit-programs check check-unit check-probe check-bats check-interop check-kit check-long check-kernels \
	check-asan check-all bench
unit-programs: $(unit_bins)

# A comment `// link: user` in the first ten lines links the collector's objects and libbpf too.
wants_user = $$(sed -n '1,10p' $< | grep -q 'link: *user' && echo "$(LIBUSER) -lbpf")
$(unit_bins): $(B)/tests/%: tests/unit/%.c $(unit_help) $(LIBS) $(LIBUSER) $(FLAGS_STAMP)
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(UNIT_FLAGS) -MMD -MP -MF $@.d -o $@ $< $(unit_help) \
		-Wl,--start-group $(wants_user) $(LIBS) -Wl,--end-group -lcmocka $(REPORT_LIBS)
-include $(patsubst %,%.d,$(unit_bins))

# The dependencies are installed first: only then can make see where HDF5 is, hence a make of its own.
check: deps ## build with warnings as errors and run every suite (about a quarter of an hour)
	@$(MAKE) --no-print-directory $(JOBS) WERROR=1 all unit-programs fuzz-programs
	@$(TESTS_RUN) $(EVERYDAY)

check-unit: unit-programs ## C unit tests
	@$(TESTS_RUN) unit
check-probe: ## the probe header with every compiler and linker
	@$(TESTS_RUN) probe
check-bats: all ## the programs as a user runs them (root)
	@$(TESTS_RUN) bats
check-interop: all ## other programs read our files (root)
	@$(TESTS_RUN) interop
check-kit: programs ## the conformance kit
	@$(TESTS_RUN) kit
check-long: all unit-programs ## what takes too long for every day (an hour)
	@$(TESTS_RUN) long
# Without its packages every test of it skips and says which one is missing.
check-kernels: all ## other kernels, in QEMU
	@mk/deps.sh mk/deps-kernels.txt || true
	@$(TESTS_RUN) kernels

# Address and undefined-behaviour sanitizers on all that runs without root: unit tests (replay among them) and the kit.
# Leaks count.
ASAN_B := $(B)/asan
ASAN   := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
check-asan: ## unit tests, replay and kit under AddressSanitizer and UBSan
	@$(MAKE) --no-print-directory $(JOBS) B=$(ASAN_B) SAN='$(ASAN)' OPT=-O1 programs unit-programs
	@ln -sfn ../venv $(ASAN_B)/venv
	@ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 \
		tests/run --build $(ASAN_B) $(if $(ONLY),--only $(ONLY)) unit kit

bench: all ## target and result of what the project promises (root)
	@if [ "$$(id -u)" -eq 0 ]; then exec tests/bench/run $(B); else exec sudo tests/bench/run $(B); fi
