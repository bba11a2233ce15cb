package hostile_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/check/swap"
	"fiberlab/labs/grade"
	"fiberlab/labs/hostile"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// state is the sum of all files below the folders, by their paths.
func state(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range dirs {
		require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			found[path] = fmt.Sprintf("%x", sha256.Sum256(text))
			return err
		}))
	}
	return found
}

// changed are the paths whose files differ.
func changed(before, after map[string]string) []string {
	var paths []string
	for path, sum := range before {
		if after[path] != sum {
			paths = append(paths, path)
		}
	}
	for path := range after {
		if _, known := before[path]; !known {
			paths = append(paths, path)
		}
	}
	return paths
}

// processes are the processes whose command names the folder.
func processes(dir string) []string {
	var found []string
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range commands {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), dir) {
			found = append(found, filepath.Dir(path))
		}
	}
	return found
}

// said is all that a report says.
func said(r *grade.Report) string {
	var lines []string
	if r.Build != nil {
		lines = append(lines, r.Build.Said...)
	}
	for _, i := range r.Items {
		for _, f := range i.Faults {
			lines = append(lines, i.Name+": "+f.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// itemTime is how long the examination of an item may take: of what ends by itself, as long as it needs.
func itemTime(s hostile.Submission) time.Duration {
	if s.Slow {
		return 2 * time.Second
	}
	return 2 * time.Minute
}

// place is where a submission is handed in.
type place struct {
	name     string
	lab      *grade.Lab
	arch     *machine.Arch
	emulator []string
	reaching bool // only what tries to reach the emulator
}

// takes reports whether a submission may be handed in there.
func (p place) takes(s hostile.Submission) bool {
	return !p.reaching || strings.HasPrefix(s.Name, "stub")
}

// emulated reports whether submissions run in an emulator: it stands in where ptrace is not permitted.
func (p place) emulated() bool {
	return p.arch != machine.Native() || p.emulator != nil || machine.Traces() != nil
}

// places are labs 2 and 3, and the one of this architecture once more, in an emulator.
func places() []place {
	var all []place
	for _, l := range swap.Labs() {
		a := l.Arches[0]
		all = append(all, place{name: a.Name, lab: l, arch: a})
		if a == machine.Native() {
			all = append(all, place{a.Name + " in qemu", l, a, []string{a.Emulator}, true})
		}
	}
	return all
}

// Hostile submissions get no points, are told for what they are, and leave nothing behind. Each is handed in to one of
// the places that take it, in turn, unless it is slow. If FIBERLAB_SELFTEST is set, slow programs take part, and each
// is handed in to all labs of the machine's own architecture. Of the others an emulator takes several times as long:
// one of three is drawn.
func TestHostile(t *testing.T) {
	if sandbox.Missing() != "" {
		t.Skip(sandbox.Missing())
	}
	labs, err := filepath.Abs("..")
	require.NoError(t, err)
	folders := []string{filepath.Join(labs, "02"), filepath.Join(labs, "03"), filepath.Join(labs, "hostile")}
	before := state(t, folders...)
	inFull := os.Getenv("FIBERLAB_SELFTEST") != ""
	seed, err := strconv.ParseUint(os.Getenv("FIBERLAB_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64N(3)
	}
	t.Logf("drawn by FIBERLAB_SEED=%d", seed)
	all := places()
	for _, p := range all {
		graded := 0
		for i, s := range hostile.Set() {
			taking := slices.DeleteFunc(slices.Clone(all), func(p place) bool { return !p.takes(s) })
			switch {
			case !p.takes(s):
				continue
			case inFull && p.arch != machine.Native() && uint64(i)%3 != seed%3:
				continue
			case !inFull && (s.Slow || taking[i%len(taking)].name != p.name):
				continue
			}
			t.Run(s.Name+"/"+p.name, func(t *testing.T) {
				dir, scratch := t.TempDir(), t.TempDir()
				t.Setenv("TMPDIR", scratch)
				require.NoError(t, s.Write(dir, labs))
				handedIn := state(t, dir)
				began := time.Now()
				options := grade.Options{Arch: p.arch, Dir: dir, Seed: 1, ItemTime: itemTime(s), Emulator: p.emulator}
				r, err := p.lab.Grade(t.Context(), options)
				if errors.Is(err, machine.ErrNoPtrace) || errors.Is(err, machine.ErrNoEmulator) {
					t.Skip(err)
				}
				require.NoError(t, err)
				t.Logf("%v: %s", time.Since(began).Round(time.Millisecond), said(r))
				require.Zero(t, r.Points, said(r))
				require.Regexp(t, regexp.MustCompile(s.Said(p.emulated())), said(r))
				require.Empty(t, processes(scratch), "it left processes")
				require.Empty(t, state(t, scratch), "it left files")
				require.Empty(t, changed(handedIn, state(t, dir)), "it changed what was handed in")
				graded++
			})
		}
		if inFull && !t.Failed() {
			fmt.Printf(
				"labs-selftest: hostile %s: %d submissions, none of which got points or left anything behind\n", p.name,
				graded,
			)
		}
	}
	require.Empty(t, changed(before, state(t, folders...)), "files of the labs have changed")
}

// In no lab does a submission reach the emulator's stub: here all that a lab asks for answers in the stub's name.
func TestNoLabReachesTheStub(t *testing.T) {
	if sandbox.Missing() != "" {
		t.Skip(sandbox.Missing())
	}
	for _, l := range catalogue.All() {
		a := l.Arches[len(l.Arches)-1]
		if a == machine.Native() || os.Getenv("FIBERLAB_SELFTEST") == "" && l.Number != "05" {
			continue // under ptrace there is no stub
		}
		t.Run(l.Number, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, hostile.WriteAnswers(dir, l.Needs))
			r, err := l.Grade(t.Context(), grade.Options{Arch: a, Dir: dir, Seed: 1})
			if errors.Is(err, machine.ErrNoEmulator) {
				t.Skip(err)
			}
			require.NoError(t, err)
			require.Zero(t, r.Points, said(r))
			if l.Examiner != nil { // which takes plain C alone
				require.Contains(t, said(r), "uses __asm__")
			} else {
				require.Contains(t, said(r), "called sendto: not allowed here")
			}
		})
	}
}
