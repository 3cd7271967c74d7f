# SPDX-License-Identifier: GPL-2.0-only
# The workshop of scope-bpf. `make help` lists what it can do.
#
# Sources are found by wildcard: a new file in a room needs no line here.
# Nothing in the build reaches the network; only `make deps` does.

B      ?= build
CC     ?= gcc
CXX    ?= g++
CLANG  ?= clang
MPICC  ?= mpicc
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /sbin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config
PYTHON ?= /usr/bin/python3

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif

# Warnings are errors with the compiler that the project is tested with; a newer one may know warnings
# that we do not, and must not keep a person from building. `make check` sets WERROR=1 always.
WERROR ?= $(if $(filter 12,$(firstword $(subst ., ,$(shell $(CC) -dumpversion 2>/dev/null)))),1,0)
WARN   := -Wall -Wextra -Wshadow -Wvla -Wno-missing-field-initializers $(if $(filter 1,$(WERROR)),-Werror)

# check and demo use every CPU, unless a -j on the command line says how many.
JOBS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

SAN    ?=
OPT    ?= -O2
CFLAGS ?= $(OPT) -g
VERSION := $(shell cat VERSION 2>/dev/null || echo 0)

# Where the programs look for presets once installed.
PREFIX  ?= /usr/local
DATADIR ?= $(PREFIX)/share/scope-bpf

INCLUDES := -I$(B)/obj/bpf -I. -Ibpf -Iusdt -Iconverters -Iconverters/formats -Iconverters/views -Iuser -Iinclude
DEFINES  := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DSCOPE_BPF_VERSION='"$(VERSION)"' -DSCOPE_BPF_DATADIR='"$(DATADIR)"'
ALL_CFLAGS = -std=gnu11 $(CFLAGS) $(WARN) $(SAN) $(DEFINES) $(INCLUDES) -pthread

HDF5_PC    := $(shell for p in hdf5-serial hdf5; do $(PKG_CONFIG) --exists $$p 2>/dev/null && echo $$p && break; done)
HDF5_CFLAGS := $(if $(HDF5_PC),$(shell $(PKG_CONFIG) --cflags $(HDF5_PC)))
HDF5_LIBS  := $(if $(HDF5_PC),$(shell $(PKG_CONFIG) --libs $(HDF5_PC)),-lhdf5)
JSON_CFLAGS := $(shell $(PKG_CONFIG) --cflags json-c 2>/dev/null)
JSON_LIBS  := $(or $(shell $(PKG_CONFIG) --libs json-c 2>/dev/null),-ljson-c)

# The collector never links a format library: that this link line suffices is the proof.
BPF_LIBS    := -lbpf -ldw -lelf -lz -lm -pthread
REPORT_LIBS := $(HDF5_LIBS) $(JSON_LIBS) -ldw -lelf -lz -lm -pthread

V ?= 0
ifeq ($(V),0)
Q := @
say = @printf '  %-8s %s\n' '$(1)' '$(2)'
else
Q :=
say = @:
endif

.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

srcs = $(strip $(foreach d,$(1),$(wildcard $(d)/*.c) $(wildcard $(d)/*/*.c)))
objs = $(patsubst %.c,$(B)/obj/%.o,$(1))

USDT_SRCS       := $(call srcs,usdt)
REPORT_MAIN     := $(wildcard converters/scope_report.c)
CONVERTERS_SRCS := $(filter-out $(REPORT_MAIN),$(call srcs,converters))
USER_MAIN       := $(wildcard user/main.c)
USER_SRCS       := $(filter-out $(USER_MAIN),$(call srcs,user))
BPF_SRCS        := $(wildcard bpf/*.bpf.c)

PROGRAMS := $(if $(USER_MAIN),$(B)/scope-bpf) $(if $(REPORT_MAIN),$(B)/scope-report)
LIBS     := $(if $(USDT_SRCS),$(B)/libusdt.a) $(if $(CONVERTERS_SRCS),$(B)/libconverters.a)
LIBUSER  := $(if $(USER_SRCS),$(B)/libuser.a)
SKEL     := $(if $(BPF_SRCS),$(B)/obj/bpf/scope.skel.h)

FLAGS_STAMP := $(B)/obj/.flags
MEMBERS_STAMP := $(B)/obj/.members

include mk/bpf.mk
include mk/apps.mk
include mk/test.mk
include mk/bench.mk
include mk/fuzz.mk
include mk/install.mk

.PHONY: all programs deps help clean distclean
all: programs apps examples ## build everything: programs, truth programs, examples
programs: $(LIBS) $(LIBUSER) $(PROGRAMS) ## build build/scope-bpf and build/scope-report only

# Everything is built again when the way of building changes.
FLAGS_NOW    = $(CC) $(ALL_CFLAGS) $(CLANG) $(BPF_CFLAGS)
# An archive is made again also when a file has left its room.
$(FLAGS_STAMP) $(MEMBERS_STAMP): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' "$$STAMP_TEXT" | cmp -s - $@ || printf '%s\n' "$$STAMP_TEXT" > $@
$(FLAGS_STAMP): export STAMP_TEXT = $(FLAGS_NOW)
$(MEMBERS_STAMP): export STAMP_TEXT = $(USDT_SRCS) $(CONVERTERS_SRCS) $(USER_SRCS) $(BPF_SRCS)
.PHONY: FORCE
FORCE:

$(B)/obj/%.o: %.c $(FLAGS_STAMP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<

$(call objs,$(CONVERTERS_SRCS) $(REPORT_MAIN)): EXTRA_CFLAGS = $(HDF5_CFLAGS) $(JSON_CFLAGS)
$(call objs,$(USER_SRCS) $(USER_MAIN)): | $(SKEL)

# From nothing each time: ar would keep what is no longer named.
define archive
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)
endef
$(B)/libusdt.a: $(call objs,$(USDT_SRCS)) $(MEMBERS_STAMP)
	$(archive)
$(B)/libconverters.a: $(call objs,$(CONVERTERS_SRCS)) $(MEMBERS_STAMP)
	$(archive)
$(B)/libuser.a: $(call objs,$(USER_SRCS)) $(MEMBERS_STAMP)
	$(archive)

# The page is put into the object as it is.
$(B)/obj/converters/formats/html.o: converters/formats/report.html

# The rooms' archives refer to each other (errors, the capture's shape): one group, in no order.
group = -Wl,--start-group $(1) -Wl,--end-group
# Of the converters the collector needs the shape of a capture and nothing else: no format library comes near root.
COLLECTOR_OBJS := $(call objs,$(USER_MAIN) converters/capture_format.c)
$(B)/scope-bpf: $(COLLECTOR_OBJS) $(LIBUSER) $(B)/libusdt.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) $(LDFLAGS) -o $@ $(filter %.o,$^) $(call group,$(LIBUSER) $(B)/libusdt.a) $(BPF_LIBS)

$(B)/scope-report: $(call objs,$(REPORT_MAIN)) $(LIBS)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) $(LDFLAGS) -o $@ $(filter %.o,$^) $(call group,$(LIBS)) $(REPORT_LIBS)

-include $(patsubst %.o,%.d,$(call objs,$(USDT_SRCS) $(CONVERTERS_SRCS) $(REPORT_MAIN) $(USER_SRCS) $(USER_MAIN)))

DEPS_LISTS := mk/deps.txt tests/requirements.txt tests/requirements-alone.txt
deps: $(B)/.deps-stamp ## install what building and testing need (apt-get, a Python environment in build/venv)
$(B)/.deps-stamp: mk/deps.sh $(DEPS_LISTS)
	@mkdir -p $(@D)
	$(Q)mk/deps.sh mk/deps.txt $(B)/venv tests/requirements.txt tests/requirements-alone.txt
	@touch $@

clean: ## remove what was built (the Python environment stays)
	rm -rf $(B)/obj $(B)/tests $(B)/bench $(B)/apps $(B)/examples $(B)/asan $(B)/fuzz/obj $(B)/fuzz/fuzz_* $(B)/*.a $(B)/scope-bpf $(B)/scope-report

distclean: ## remove the whole build folder
	rm -rf $(B)

help: ## this text
	@echo 'scope-bpf: where does the time of a running program go, region by region'
	@echo
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST) | sort
	@echo
	@echo 'Variables: V=1 shows the commands; WERROR=0 lets warnings pass; B=folder builds elsewhere;'
	@echo 'PREFIX=/usr/local, DESTDIR= for install; CC, CXX, CLANG, MPICC choose compilers.'
	@echo 'First time: make demo, as yourself (it asks for sudo where it must) or as root.'
