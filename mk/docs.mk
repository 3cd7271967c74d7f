# SPDX-License-Identifier: GPL-2.0-only
# Man page and completion, made by the program from its own table of options.

.PHONY: docs
docs: $(B)/scope-bpf.1 $(B)/completion/scope-bpf ## make the man pages and the completion

$(B)/scope-bpf.1: $(B)/scope-bpf
	$(call say,MAN,$@)
	$(Q)$< --dump-man > $@
$(B)/completion/scope-bpf: $(B)/scope-bpf
	$(call say,COMPLETE,$@)
	@mkdir -p $(@D)
	$(Q)$< --dump-completion > $@
