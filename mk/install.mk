# SPDX-License-Identifier: GPL-2.0-only
# Installing, and looking after the code.

DESTDIR ?=
INSTALL ?= install
BINDIR  := $(DESTDIR)$(PREFIX)/bin
INCDIR  := $(DESTDIR)$(PREFIX)/include
MANDIR  := $(DESTDIR)$(PREFIX)/share/man
COMPDIR := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
PRESETS := $(wildcard usdt/*.pairs usdt/presets/*.pairs)
HEADERS := $(wildcard include/*.h include/*.f90 include/*.F90 include/*.mod)

# Man pages and completion: made by a program from its own table of options, or a file beside the program.
names := scope-bpf scope-report
page_of = $(wildcard user/$(1).1 converters/$(1).1)
done_of = $(wildcard user/$(1).bash converters/$(1).bash)
MAN_PAGES   := $(names:%=$(B)/man/%.1)
COMPLETIONS := $(names:%=$(B)/completion/%)

define page_rules
$(B)/man/$(1).1: $(or $(call page_of,$(1)),$(B)/$(1))
	$$(call say,MAN,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(if $(call page_of,$(1)),cp $$< $$@,$(B)/$(1) --dump-man > $$@)
$(B)/completion/$(1): $(or $(call done_of,$(1)),$(B)/$(1))
	$$(call say,COMP,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(if $(call done_of,$(1)),cp $$< $$@,$(B)/$(1) --dump-completion > $$@)
endef
$(foreach n,$(names),$(eval $(call page_rules,$(n))))

.PHONY: docs install uninstall install-caps demo lint format
docs: $(MAN_PAGES) $(COMPLETIONS) ## man pages and shell completion, into build/man and build/completion

install: programs docs ## install below DESTDIR and PREFIX (/usr/local)
	$(INSTALL) -d $(BINDIR) $(INCDIR) $(MANDIR)/man1 $(COMPDIR) $(DESTDIR)$(DATADIR)/presets
	$(INSTALL) -m 755 $(names:%=$(B)/%) $(BINDIR)
	$(INSTALL) -m 644 $(HEADERS) $(INCDIR)
	$(INSTALL) -m 644 $(MAN_PAGES) $(MANDIR)/man1
	$(INSTALL) -m 644 $(COMPLETIONS) $(COMPDIR)
	$(if $(PRESETS),$(INSTALL) -m 644 $(PRESETS) $(DESTDIR)$(DATADIR)/presets)

uninstall: ## remove what install put there
	rm -f $(names:%=$(BINDIR)/%) $(foreach h,$(notdir $(HEADERS)),$(INCDIR)/$(h))
	rm -f $(names:%=$(MANDIR)/man1/%.1) $(names:%=$(COMPDIR)/%)
	rm -rf $(DESTDIR)$(DATADIR)

# Capabilities instead of sudo. The last one only where the kernel refuses CAP_PERFMON (Debian's own kernels do).
CAPS := cap_bpf,cap_perfmon,cap_sys_ptrace,cap_checkpoint_restore,cap_kill
PARANOID := $(shell cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 2)
install-caps: ## let ordinary users run the installed scope-bpf without sudo (as root, after install)
	setcap $(CAPS)$(if $(shell [ $(PARANOID) -gt 2 ] && echo y),$(comma)cap_sys_admin)+ep $(BINDIR)/scope-bpf
	@getcap $(BINDIR)/scope-bpf
comma := ,

demo: deps ## record examples/heat on two ranks and show what came out (root, or a user with sudo)
	@$(MAKE) --no-print-directory $(JOBS) programs examples
	@examples/demo.sh $(B)

C_FILES := $(filter-out vmlinux/full/%,$(wildcard $(foreach d,bpf usdt user converters include tests/unit tests/apps \
	examples tests/bench tests/fuzz,$(d)/*.c $(d)/*.h $(d)/*.cc $(d)/*/*.c $(d)/*/*.h $(d)/*/*.cc)))
TIDY_FILES := $(USDT_SRCS) $(CONVERTERS_SRCS) $(REPORT_MAIN) $(USER_SRCS) $(USER_MAIN)
SCRIPTS := $(shell git ls-files 2>/dev/null | grep -v '^tests/kit/' | xargs -r grep -lE '^\#!/.*\b(ba)?sh\b' 2>/dev/null)
BATS    := $(wildcard tests/*/*.bats tests/*/*.bash)

# One file at a time and remembered: clang-tidy needs seconds for each.
TIDY_OKS := $(TIDY_FILES:%.c=$(B)/tidy/%.ok)
$(B)/tidy/%.ok: %.c .clang-tidy | $(SKEL)
	$(call say,TIDY,$<)
	@mkdir -p $(@D)
	$(Q)clang-tidy --quiet --warnings-as-errors='*' $< -- -std=gnu11 $(DEFINES) $(INCLUDES) $(HDF5_CFLAGS) \
		$(JSON_CFLAGS) -MMD -MT $@ -MF $(@:.ok=.d) 2>$@.err || { cat $@.err; exit 1; }
	@touch $@
-include $(TIDY_OKS:.ok=.d)

lint: $(TIDY_OKS) ## clang-tidy, shellcheck, codespell, long files (-j2 -k: all that is wrong)
	$(Q)shellcheck -x -S warning $(SCRIPTS)
	$(Q)$(if $(BATS),shellcheck -x -S warning -s bash -e SC1091$(comma)SC2154$(comma)SC2034 $(BATS))
	$(Q)git ls-files | grep -vE '^tests/kit/|LICENSE' | xargs codespell -L $(shell paste -sd, mk/codespell.txt)
	$(Q)long=$$(wc -l $(filter-out vmlinux/%,$(C_FILES)) | awk '$$2 != "total" && $$1 > 800 { print $$2 ": " $$1 " lines, more than 800" }'); \
		[ -z "$$long" ] || { echo "$$long"; exit 1; }

format: ## clang-format over what git says is changed (ALL=1: everything)
	$(Q)clang-format -i $(if $(filter 1,$(ALL)),$(C_FILES),$(filter $(C_FILES),$(shell git diff --name-only HEAD; git ls-files -o --exclude-standard)))
