# SPDX-License-Identifier: GPL-2.0-only
# Unit tests. Every tests/unit/test_NAME.c is a cmocka program of its own.

unit_srcs := $(wildcard tests/unit/test_*.c)
unit_bins := $(patsubst tests/unit/%.c,$(B)/tests/%,$(unit_srcs))
# Helpers that the tests share: every other .c file in the folder.
unit_help := $(filter-out $(unit_srcs),$(wildcard tests/unit/*.c))
UNIT_FLAGS = $(HDF5_CFLAGS) $(JSON_CFLAGS) -Itests/unit

.PHONY: unit-programs
unit-programs: $(unit_bins)

# `// link: user` in the first ten lines links the collector's objects and libbpf too.
wants_user = $$(sed -n '1,10p' $< | grep -q 'link: *user' && echo "$(LIBUSER)")
$(unit_bins): $(B)/tests/%: tests/unit/%.c $(unit_help) $(LIBS) $(LIBUSER)
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(UNIT_FLAGS) -MMD -MP -MF $@.d -o $@ $< $(unit_help) $(wants_user) \
		$(wildcard $(B)/libconverters.a $(B)/libusdt.a) -lcmocka -lbpf $(REPORT_LIBS)
-include $(wildcard $(B)/tests/*.d)
