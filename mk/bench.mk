# SPDX-License-Identifier: GPL-2.0-only
# Programs of `make bench`: tests/bench/NAME.c -> build/bench/NAME. What they are for, tests/bench/run says.

bench_progs := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c))

.PHONY: bench-programs
bench bench-programs: $(bench_progs)

$(B)/bench/%: tests/bench/%.c $(B)/libusdt.a $(B)/libconverters.a $(FLAGS_STAMP)
	$(call say,BENCH,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -MF $@.d -o $@ $< $(B)/libconverters.a $(B)/libusdt.a $(BPF_LIBS)
-include $(wildcard $(B)/bench/*.d)
