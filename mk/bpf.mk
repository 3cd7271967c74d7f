# SPDX-License-Identifier: GPL-2.0-only
# bpf/*.bpf.c -> one object -> build/obj/bpf/scope.skel.h (struct scope_bpf).

ARCH     ?= $(shell uname -m)
BPF_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(ARCH)))
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)

# A full header made by vmlinux/regenerate.sh can be used with VMLINUX=vmlinux/full.
VMLINUX ?= vmlinux

# -mcpu=v3: 32-bit jumps and atomics; every kernel that we support has them.
# The multiarch folder is where asm/types.h of the UAPI headers lives on Debian; last in the search.
BPF_CFLAGS := -target bpf -g -O2 -mcpu=v3 -std=gnu11 -D__TARGET_ARCH_$(BPF_ARCH) \
	-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Wno-address-of-packed-member \
	$(if $(filter 1,$(WERROR)),-Werror) -I$(VMLINUX) -Ibpf -I. \
	$(if $(MULTIARCH),-idirafter /usr/include/$(MULTIARCH))

BPF_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(BPF_SRCS))

$(B)/obj/bpf/%.bpf.o: bpf/%.bpf.c $(FLAGS_STAMP)
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/obj/bpf/scope.linked.o: $(BPF_OBJS) $(MEMBERS_STAMP)
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $(filter %.bpf.o,$^)

$(B)/obj/bpf/scope.skel.h: $(B)/obj/bpf/scope.linked.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name scope_bpf > $@

-include $(patsubst %.o,%.d,$(BPF_OBJS))
