# What may be typed in the folder of a lab. The Makefile of each lab sets LAB, its number, and includes this file.
#
#   make                 grade what lies in this folder
#   make reference       grade the reference
#   make json            grade this folder, and print one JSON document (from elsewhere: make -s -C labs/01 json)
#   make clean           remove what was built
#
# What may be set, as in `make ARCH=arm64`:
#   ARCH      amd64 or arm64: the architecture to build for and run on (default: this machine's, or the lab's)
#   SEED      from what the values of the examination are drawn: the number that a report names
#   FIBERLAB  where fiberlab is, for a copy of this folder elsewhere (default: two folders up)
#   BUILD     a folder for the programs that are built, for a checkout that cannot be written (default: build in FIBERLAB)
# CC and Go's variables have their usual meaning.

# Make splits words at blanks, so paths are relative, or stand in quotation marks.
FIBERLAB ?= ../..
BUILD    ?= $(FIBERLAB)/build
ARCH     ?=
SEED     ?=

ifeq ($(filter undefine,$(.FEATURES)),)
$(error this is make $(MAKE_VERSION): the labs need GNU make 3.82 or newer)
endif
ifneq ($(filter-out amd64 arm64,$(ARCH)),)
$(error ARCH=$(ARCH): choose one of amd64 and arm64)
endif

# Lab 2 is about amd64 alone, lab 3 about arm64.
HOST   := $(if $(filter aarch64 arm64,$(shell uname -m)),arm64,amd64)
TARGET := $(or $(ARCH),$(if $(filter 02,$(LAB)),amd64),$(if $(filter 03,$(LAB)),arm64),$(HOST))
NEEDS  := go certs modules=./cmd/labs cc
ifneq ($(TARGET),$(HOST))
NEEDS  += foreign
COMPILER = $(if $(filter arm64,$(TARGET)),aarch64,x86_64)-linux-gnu-gcc
EMULATOR = qemu-$(if $(filter arm64,$(TARGET)),aarch64,x86_64)
else
COMPILER = $$(go env CC)
endif

# In a recipe: makes "$$@" the sources of this folder for an architecture, and those of labs/swap that these do not
# replace. A swap.S of this folder takes the place of each architecture's.
SOURCES = set --; for file in *.c *.S; do \
	case $$file in *_$(if $(filter amd64,$(1)),arm64,amd64).S) continue ;; esac; \
	[ ! -e "$$file" ] || set -- "$$@" "$$file"; done; \
	for file in "$(FIBERLAB)"/labs/swap/*.c "$(FIBERLAB)"/labs/swap/*_$(1).S; do name=$${file\#\#*/}; \
	[ ! -e "$$file" ] || [ -e "$$name" ] || [ -e "$${name%_$(1).S}.S" ] || set -- "$$@" "$$file"; done;

POINTS := $(wildcard $(FIBERLAB)/labs/$(LAB)/points.toml)
GRADE = "$(BUILD)/labs" grade $(LAB) --arch $(TARGET) $(if $(SEED),--seed $(SEED)) $(if $(POINTS),--points "$(POINTS)")

.DEFAULT_GOAL := grade

.PHONY: grade reference json clean tool build

grade: tool
	@$(GRADE) .

reference: tool
	@$(GRADE) "$(FIBERLAB)/labs/$(LAB)/reference"

json: tool
	@$(GRADE) --json .

# Go knows best whether the grader is up to date.
tool: build
	@"$(FIBERLAB)/scripts/need" $(NEEDS)
	@[ -e "$(BUILD)/labs" ] || echo 'fiberlab: building the grader: the first time takes 10 s to a minute' >&2
	@build=$$(cd "$(BUILD)" && pwd) && cd "$(FIBERLAB)" && CGO_ENABLED=0 go build -buildvcs=false -o "$$build/labs" ./cmd/labs

build:
	@mkdir -p "$(BUILD)" 2>/dev/null && [ -w "$(BUILD)" ] || \
		{ echo 'fiberlab: $(BUILD) cannot be written: name another folder for what is built: make BUILD=/tmp/labs' >&2; exit 1; }

clean:
	rm -f "$(BUILD)/labs" "$(BUILD)"/lab-*
