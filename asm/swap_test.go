package asm

import (
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
)

var (
	checks = []string{"registers", "control", "entry", "rounding", "locals", "backtrace", "frames"}
	// abort is the status of a program that ended by it.
	abort = 128 + 6
)

const framePointers = "-fno-omit-frame-pointer"

func newSeed(t *testing.T) string {
	seed := strconv.FormatUint(rand.Uint64(), 10)
	t.Log("seed", seed)
	return seed
}

// probe runs one check of one variant on a processor as ctest.Run has it.
func probe(t *testing.T, cpu, program, variant, check string) ctest.Result {
	seed := newSeed(t)
	result, err := ctest.Run(cpu, program, variant, check, seed)
	require.NoError(t, err)
	if result.Status == ctest.Skipped {
		t.Skip(result.Output)
	}
	return result
}

// variants are the ways to switch, the simplest first.
var variants = []string{"swap", "swap_fp", "inline"}

// keepsControl reports which variants keep the floating-point control state of fibers apart.
var keepsControl = map[string]bool{"swap": false, "swap_fp": true, "inline": false}

// probeAll runs all checks of all variants. The checks of what the bare variants leave out fail, which shows that they
// see it; but a bare switch that does more than it must is not wrong.
func probeAll(t *testing.T, cpu, program string, checks []string) {
	ours := recorded(t, switchSource())
	for _, variant := range variants {
		for _, check := range checks {
			t.Run(variant+"/"+check, func(t *testing.T) {
				result := probe(t, cpu, program, variant, check)
				if !keepsControl[variant] && (check == "control" || check == "rounding") {
					if ours {
						require.Equal(t, 1, result.Status, "a bare switch kept the control state: %s", result.Output)
						require.Regexp(t, "mxcsr|x87 control word|fpcr|rounding mode leaked", result.Output)
					}
					return
				}
				if !result.Passed() {
					t.Error(inOneLine(variant, check, result))
				}
			})
		}
	}
}

// recorded reports whether the source is the project's own, of which the tests know more than that it must be right.
func recorded(t *testing.T, source string) bool {
	ours, err := ctest.Recorded(source)
	require.NoError(t, err)
	return ours
}

func TestSwitch(t *testing.T) {
	for _, flags := range [][]string{
		{"-O2", framePointers},
		{"-O0", framePointers},
		{"-O3", framePointers, "-fPIC"},
		{"-O2", "-fomit-frame-pointer"},
		{"-O3", "-fomit-frame-pointer", "-fPIC"},
	} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			program := buildProber(t, flags...)
			if flags[1] != framePointers {
				probeAll(t, "", program, []string{"registers", "locals", "backtrace"})
				return
			}
			probeAll(t, "", program, checks)
		})
		if t.Failed() {
			return // the others would say the same
		}
	}
}

func TestReturnedBodyAborts(t *testing.T) {
	program := buildProber(t, "-O2")
	for _, variant := range variants {
		t.Run(variant, func(t *testing.T) {
			result := probe(t, "", program, variant, "returned")
			require.Equal(t, abort, result.Status, result.Output)
			require.Contains(t, result.Output, "fiberlab: the body of a fiber returned: it must end by switching")
		})
	}
}

func TestStackIsNotExecutable(t *testing.T) {
	file, err := elf.Open(buildProber(t, "-O2"))
	require.NoError(t, err)
	defer file.Close()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_GNU_STACK {
			require.Zero(t, segment.Flags&elf.PF_X, "the assembly asks for executable stacks")
			return
		}
	}
	require.Fail(t, "the program says nothing about its stack: it will be executable")
}
