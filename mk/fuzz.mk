# SPDX-License-Identifier: GPL-2.0-only
# Hostile bytes for every reader: tests/fuzz/fuzz_NAME.c -> build/fuzz/fuzz_NAME, with libFuzzer of clang.
#
# All of usdt and converters is compiled once more for it, with coverage and the sanitizers in it. Seeds, limits
# and judgement: tests/fuzz/run.

FUZZ_SECONDS ?= 60
FUZZ_B    := $(B)/fuzz
FUZZ_SAN  := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# gcc says by this name that the address sanitizer is on, clang does not; the code asks for it.
FUZZ_CFLAGS = -std=gnu11 -O1 -gline-tables-only -w -D__SANITIZE_ADDRESS__=1 $(FUZZ_SAN) $(DEFINES) $(INCLUDES) \
	-Itests/unit $(HDF5_CFLAGS) $(JSON_CFLAGS) -pthread
FUZZ_OBJS := $(patsubst %.c,$(FUZZ_B)/obj/%.o,$(USDT_SRCS) $(CONVERTERS_SRCS) tests/unit/elf_writer.c)
fuzz_bins := $(patsubst tests/fuzz/%.c,$(FUZZ_B)/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_STAMP := $(FUZZ_B)/obj/.flags

.PHONY: fuzz fuzz-programs check-fuzz
fuzz: fuzz-programs ## hostile bytes for every reader, FUZZ_SECONDS=60 each; what it learns stays in build/fuzz
	@status=0; for program in $(notdir $(fuzz_bins)); do \
		tests/fuzz/run --keep --seconds $(FUZZ_SECONDS) $(if $(SEED),--seed $(SEED)) $(B) $$program || status=1; \
	done; exit $$status

check-fuzz: fuzz-programs ## the same for five seconds each
	@$(TESTS_RUN) fuzz

fuzz-programs: $(fuzz_bins) $(FUZZ_B)/notes_seeds

$(FUZZ_STAMP): export STAMP_TEXT = $(CLANG) $(FUZZ_CFLAGS) $(USDT_SRCS) $(CONVERTERS_SRCS)
$(FUZZ_STAMP): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' "$$STAMP_TEXT" | cmp -s - $@ || printf '%s\n' "$$STAMP_TEXT" > $@

$(FUZZ_B)/obj/%.o: %.c $(FUZZ_STAMP)
	$(call say,FUZZ,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

# The page is put into the object as it is.
$(FUZZ_B)/obj/converters/formats/html.o: converters/formats/report.html

$(FUZZ_B)/libfuzzed.a: $(FUZZ_OBJS) $(FUZZ_STAMP)
	$(archive)

$(fuzz_bins): $(FUZZ_B)/%: tests/fuzz/%.c $(FUZZ_B)/libfuzzed.a
	$(call say,FUZZ,$@)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -fsanitize=fuzzer -MMD -MP -MF $@.d -o $@ $< $(FUZZ_B)/libfuzzed.a $(REPORT_LIBS)

$(FUZZ_B)/notes_seeds: tests/fuzz/fuzz_notes.c $(FUZZ_B)/libfuzzed.a
	$(call say,FUZZ,$@)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -DFUZZ_REPLAY -o $@ $< $(FUZZ_B)/libfuzzed.a $(REPORT_LIBS)

-include $(FUZZ_OBJS:.o=.d) $(fuzz_bins:%=%.d)
