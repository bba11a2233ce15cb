package selftest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/term"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/mutate"
	"fiberlab/labs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// emulator is how programs run in an emulator, if these tests run in it.
func emulator() []string { return strings.Fields(os.Getenv("FIBERLAB_EXEC")) }

func subject(lab *grade.Lab, a *machine.Arch) Subject {
	return Subject{lab, a, filepath.Join("..", lab.Number)}
}

// thinned sets what a test of all labs examines. The seed chooses some of the mutants, and whether the solutions are
// graded. A mutant of concurrent code takes up to a second. On the foreign architecture it has the same schedules,
// and takes five times as long. The solutions of such a lab are graded on one of the two architectures. On the foreign
// one only the first schedules are tried; natively not all solutions are also seen from outside.
func (s Subject) thinned(o Options, seed uint64) (_ Options, solutions bool) {
	native, concurrent := s.Arch == machine.Native(), s.Lab.Examiner != nil
	even := (uint64(s.Lab.Number[1])+seed)%2 == 0
	switch {
	case native && concurrent:
		o.Every, o.Trusting = 32, true
	case concurrent:
		o.Every, o.Schedules = 256, fewSchedules
	case native:
		o.Every = 16
	default:
		o.Every = 32
	}
	o.First = int(seed % uint64(o.Every))
	return o, !concurrent || even == native
}

// drawn is $FIBERLAB_SEED, or another number each time.
func drawn() uint64 {
	if seed, err := strconv.ParseUint(os.Getenv("FIBERLAB_SEED"), 10, 64); err == nil {
		return seed
	}
	return rand.Uint64N(1 << 16)
}

// own are the labs that can be done on this machine's architecture.
func own() []Subject {
	var all []Subject
	for _, lab := range catalogue.All() {
		if slices.Contains(lab.Arches, machine.Native()) {
			all = append(all, subject(lab, machine.Native()))
		}
	}
	return all
}

// chosen are the labs that $FIBERLAB_SELFTEST names, on all their architectures: all, or numbers as in 02,03.
func chosen(t *testing.T) []Subject {
	names := os.Getenv("FIBERLAB_SELFTEST")
	if names == "" {
		t.Skip("make labs-selftest runs this")
	}
	var all []Subject
	for _, lab := range catalogue.All() {
		if names != "all" && !slices.Contains(strings.Split(names, ","), lab.Number) {
			continue
		}
		for _, a := range lab.Arches {
			all = append(all, subject(lab, a))
		}
	}
	require.NotEmpty(t, all, "no lab is called "+names)
	return all
}

// progress shows on a terminal how far a subject has come.
func progress(s Subject) func(done, of int) {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return nil
	}
	return func(done, of int) {
		fmt.Fprintf(os.Stderr, "\r\x1b[K%v: %d of %d mutants", s, done, of)
		if done == of {
			fmt.Fprint(os.Stderr, "\r\x1b[K")
		}
	}
}

// What is known of the grader, over all labs and architectures.
func TestTheGraderInFull(t *testing.T) {
	subjects := chosen(t)
	all, seed := os.Getenv("FIBERLAB_SELFTEST") == "all", drawn()
	if all {
		fmt.Printf(
			"labs-selftest: mutants, and on which architecture solutions are graded, are drawn by FIBERLAB_SEED=%d; "+
				"LABS=06 has all of lab 06\n", seed,
		)
	}
	var total Result
	for _, s := range subjects {
		// one more, since each waits for programs that it starts
		o := Options{Seed: 1, AtOnce: runtime.GOMAXPROCS(0) + 1, Progress: progress(s)}
		examinations := []func(context.Context, Options) (Result, error){s.Skeleton, s.Mutants, s.Solutions}
		if all {
			var solutions bool
			if o, solutions = s.thinned(o, seed); !solutions {
				examinations = examinations[:2]
			}
		}
		var r Result
		for _, examine := range examinations {
			found, err := examine(t.Context(), o)
			require.NoError(t, err, s)
			r.Add(found)
		}
		for _, m := range r.Misses {
			fmt.Println(m)
		}
		fmt.Printf("labs-selftest: %v: %v\n", s, r)
		total.Add(r)
	}
	for _, m := range total.Misses { // once more, where a reader looks first
		t.Error(m)
	}
	if t.Failed() {
		t.Fatalf("%d misses in all", len(total.Misses))
	}
	fmt.Printf(
		"labs-selftest: %d labs, on each architecture: %d of %d mutants caught and named, %d others equivalent as "+
			"listed; %d of %d other solutions at full marks\n",
		len(subjects), total.Caught, total.Mutants-total.Equivalent, total.Equivalent, total.Solutions, total.Solutions,
	)
}

// Mutants are made of all that a lab's reference consists of: of what is around a swap, too.
func TestMutantsOfAllSources(t *testing.T) {
	around := map[string][]string{
		"02": {"context.c", "swap.S", "trampoline.S"},
		"03": {"context.c", "swap.S", "trampoline.S"},
		"04": {"context.c", "overflow.c", "stack.c", "trampoline_"},
	}
	for _, lab := range catalogue.All() {
		for _, a := range lab.Arches {
			s := subject(lab, a)
			list, err := mutate.ReadEquivalents(filepath.Join(s.Folder, "equivalents.txt"))
			require.NoError(t, err)
			all, err := s.mutants(list)
			require.NoError(t, err)
			for _, file := range around[lab.Number] {
				require.True(
					t, slices.ContainsFunc(all, func(m mutate.Mutant) bool { return strings.HasPrefix(m.File, file) }),
					"%v: %s", s, file,
				)
			}
		}
	}
}

// A small part of it, over three of this architecture's labs, which the seed chooses. The tests of each examiner grade
// one solution.
func TestTheGrader(t *testing.T) {
	labs, seed := own(), drawn()
	t.Logf("drawn by FIBERLAB_SEED=%d", seed)
	for i := range 3 {
		s := labs[(int(seed%uint64(len(labs)))+i*len(labs)/3)%len(labs)]
		t.Run(s.String(), func(t *testing.T) {
			if err := machine.Controls(s.Arch); err != nil && len(emulator()) == 0 {
				t.Skip(err)
			}
			o := Options{Seed: 1, AtOnce: runtime.GOMAXPROCS(0), Every: 1000, Emulator: emulator()}
			for _, examine := range []func(context.Context, Options) (Result, error){s.Skeleton, s.Mutants} {
				r, err := examine(t.Context(), o)
				require.NoError(t, err)
				for _, m := range r.Misses {
					t.Error(m)
				}
				t.Log(r)
			}
		})
	}
}

// with returns the subject with another grader: change makes its items.
func (s Subject) with(change func(grade.Item) grade.Item) Subject {
	lab := *s.Lab
	lab.Items = nil
	for _, item := range s.Lab.Items {
		lab.Items = append(lab.Items, change(item))
	}
	s.Lab = &lab
	return s
}

// Graders with a fault, each of which must be found.
func TestFaultyGradersAreFound(t *testing.T) {
	if err := machine.Controls(machine.Native()); err != nil && len(emulator()) == 0 {
		t.Skip(err)
	}
	all := own()
	swaps := all[slices.IndexFunc(all, func(s Subject) bool { return s.Lab.Number == "02" || s.Lab.Number == "03" })]
	o := Options{Seed: 1, AtOnce: runtime.GOMAXPROCS(0), Every: 50, Emulator: emulator()}
	if testing.Short() || len(emulator()) > 0 {
		o.Every = 150
	}
	examine := func(t *testing.T, s Subject, how func(Subject, context.Context, Options) (Result, error)) string {
		r, err := how(s, t.Context(), o)
		require.NoError(t, err)
		require.NotEmpty(t, r.Misses)
		return r.Misses[0].String()
	}
	generous := swaps.with(func(item grade.Item) grade.Item {
		item.Check = func(context.Context, *grade.Bench) ([]grade.Fault, error) { return nil, nil }
		return item
	})
	t.Run("full marks for all", func(t *testing.T) {
		require.Contains(t, examine(t, generous, Subject.Mutants), "it got full marks")
		require.Contains(t, examine(t, generous, Subject.Skeleton), "what is handed out gets 100 points")
	})
	t.Run("a sentence that says nothing", func(t *testing.T) {
		vague := swaps.with(func(item grade.Item) grade.Item {
			check := item.Check
			item.Check = func(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
				faults, err := check(ctx, b)
				if len(faults) > 0 || err != nil {
					return []grade.Fault{{Text: "output does not match"}}, nil
				}
				return nil, nil
			}
			return item
		})
		require.Contains(t, examine(t, vague, Subject.Mutants), "no fault names the line or one of: ")
	})
	t.Run("nothing is right", func(t *testing.T) {
		strict := swaps.with(func(item grade.Item) grade.Item {
			item.Check = func(context.Context, *grade.Bench) ([]grade.Fault, error) {
				return []grade.Fault{{Text: "wrong"}}, nil
			}
			return item
		})
		require.Contains(t, examine(t, strict, Subject.Solutions), "it is right, but got 0 points of 100")
	})
	t.Run("it fails at a submission", func(t *testing.T) {
		helpless := swaps.with(func(item grade.Item) grade.Item {
			item.Check = func(context.Context, *grade.Bench) ([]grade.Fault, error) {
				return nil, errors.New("no memory is mapped")
			}
			return item
		})
		require.Contains(t, examine(t, helpless, Subject.Mutants), "the grader fails: lab ")
	})
	t.Run("no compiler", func(t *testing.T) {
		mutants, err := swaps.mutants(&mutate.Equivalents{})
		require.NoError(t, err)
		options := grade.Options{Arch: swaps.Arch, Dir: filepath.Join(swaps.Folder, "reference"), Emulator: emulator()}
		_, err = swaps.Lab.With(t.Context(), options, func(reference *grade.Bench) (*grade.Report, error) {
			w, err := newWorkshop(swaps, reference)
			require.NoError(t, err)
			w.compiler = []string{"missing"}
			return w.examine(t.Context(), mutants[0], nil)
		})
		require.ErrorIs(t, err, exec.ErrNotFound, "the mutant gets the blame")
	})
	t.Run("a list that is wrong", func(t *testing.T) {
		other := swaps
		other.Folder = t.TempDir()
		require.NoError(
			t, os.CopyFS(filepath.Join(other.Folder, "reference"), os.DirFS(filepath.Join(swaps.Folder, "reference"))),
		)
		mutants, err := swaps.mutants(&mutate.Equivalents{})
		require.NoError(t, err)
		list := "swap.S: f: dropped: hlt -- there is none\n"
		for i := 0; i < len(mutants); i += o.Every {
			list += mutants[i].Name() + " -- for no known reason\n"
		}
		require.NoError(t, os.WriteFile(filepath.Join(other.Folder, "equivalents.txt"), []byte(list), 0o644))
		r, err := other.Mutants(t.Context(), o)
		require.NoError(t, err)
		require.Len(t, r.Misses, 1+r.Mutants-r.Equivalent)
		require.Contains(t, r.Misses[0].String(), "there is no such mutant")
		require.Contains(t, r.Misses[1].String(), "it is listed as right (for no known reason), but got ")
	})
}
