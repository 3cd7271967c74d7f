# SPDX-License-Identifier: GPL-2.0-only
# Truth programs of the tests and the examples.
#
# tests/apps/NAME.c or .cc -> build/apps/NAME;  tests/apps/libNAME.c -> build/apps/libNAME.so
# A comment `// build: FLAGS` in the first ten lines adds flags (C also `/* build: FLAGS */`).

APP_FLAGS := -g -O2 -pthread -Iinclude
app_libs  := $(patsubst tests/apps/%.c,$(B)/apps/%.so,$(wildcard tests/apps/lib*.c)) \
             $(patsubst tests/apps/%.cc,$(B)/apps/%.so,$(wildcard tests/apps/lib*.cc))
app_progs := $(patsubst tests/apps/%.c,$(B)/apps/%,$(filter-out tests/apps/lib%,$(wildcard tests/apps/*.c))) \
             $(patsubst tests/apps/%.cc,$(B)/apps/%,$(filter-out tests/apps/lib%,$(wildcard tests/apps/*.cc)))

extra_flags = $$(sed -n '1,10s,^ *\(//\|/\*\) *build: *\([^*]*\).*,\2,p' $<)

.PHONY: apps examples
apps: $(app_libs) $(app_progs) ## build the truth programs of the tests

define build_app
	$(call say,APP,$@)
	@mkdir -p $(@D)
	$(Q)set -f; $(1) $(APP_FLAGS) -MMD -MP -MF $@.d $(2) -o $@ $< $(extra_flags)
endef
$(B)/apps/lib%.so: tests/apps/lib%.c
	$(call build_app,$(CC),-fPIC -shared)
$(B)/apps/lib%.so: tests/apps/lib%.cc
	$(call build_app,$(CXX),-fPIC -shared)
$(B)/apps/%: tests/apps/%.c | $(app_libs)
	$(call build_app,$(CC) -std=gnu11,-Wall)
$(B)/apps/%: tests/apps/%.cc | $(app_libs)
	$(call build_app,$(CXX),-Wall)
-include $(wildcard $(B)/apps/*.d)

# Examples are compiled as a person would: the header's folder and nothing else.
EX_FLAGS := -O2 -g -Wall -Wextra -Iinclude
HAVE_MPI := $(shell command -v $(MPICC) 2>/dev/null)
EXAMPLES := $(if $(wildcard examples/heat/heat.c),$(if $(HAVE_MPI),$(B)/examples/heat) $(B)/examples/heat_serial) \
            $(if $(wildcard examples/heat/heat.cc),$(B)/examples/heat_cc)
ifeq ($(wildcard include/scope_probe.h),)
EXAMPLES :=
endif
examples: $(EXAMPLES) ## build the example programs into build/examples

$(B)/examples/heat: examples/heat/heat.c
	$(call say,MPICC,$@)
	@mkdir -p $(@D)
	$(Q)$(MPICC) -std=c11 $(EX_FLAGS) -MMD -MP -MF $@.d -o $@ $< -lm -pthread
$(B)/examples/heat_serial: examples/heat/heat.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -DHEAT_SERIAL $(EX_FLAGS) -MMD -MP -MF $@.d -o $@ $< -lm -pthread
$(B)/examples/heat_cc: examples/heat/heat.cc
	$(call say,CXX,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++11 $(EX_FLAGS) -MMD -MP -MF $@.d -o $@ $< -pthread
-include $(wildcard $(B)/examples/*.d)
