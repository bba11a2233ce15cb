package hostile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/grade"
	"fiberlab/labs/hostile"
	"fiberlab/labs/machine"
)

// Wrong submissions get at most the points that their list allows, and are told why. Each is graded on the machine's
// own architecture, if its lab is done on it. Every fifth one is tried; if FIBERLAB_SELFTEST is set, all are, on all
// architectures of their labs.
func TestWrong(t *testing.T) {
	labs, err := filepath.Abs("..")
	require.NoError(t, err)
	inFull := os.Getenv("FIBERLAB_SELFTEST") != ""
	graded := map[*machine.Arch]int{}
	set := hostile.WrongSet()
	entries, err := filepath.Glob("wrong/*/*")
	require.NoError(t, err)
	require.Len(t, entries, len(set), "each folder of wrong is in the list")
	for i, w := range set {
		all := catalogue.All()
		lab := all[slices.IndexFunc(all, func(l *grade.Lab) bool { return l.Number == w.Lab })]
		for _, a := range lab.Arches {
			if !inFull && (a != machine.Native() || i%5 != 0) {
				continue
			}
			t.Run(filepath.Join(w.Lab, w.Name, a.Name), func(t *testing.T) {
				dir := t.TempDir()
				require.NoError(t, w.Write(dir, labs))
				// each ends by itself
				o := grade.Options{Arch: a, Dir: dir, Seed: 1, ItemTime: itemTime(hostile.Submission{})}
				if a == machine.Native() {
					o.Emulator = strings.Fields(os.Getenv("FIBERLAB_EXEC"))
				}
				r, err := lab.Grade(t.Context(), o)
				if errors.Is(err, machine.ErrNoPtrace) || errors.Is(err, machine.ErrNoEmulator) {
					t.Skip(err)
				}
				require.NoError(t, err)
				require.Nil(t, r.Build, said(r))
				require.LessOrEqual(t, r.Points, w.Most, said(r))
				require.Regexp(t, w.Says, said(r))
				graded[a]++
			})
		}
	}
	if inFull && !t.Failed() {
		for _, a := range []*machine.Arch{machine.AMD64, machine.ARM64} {
			fmt.Printf(
				"labs-selftest: wrong %s: %d submissions, each of which lost points and was told why\n", a.Name,
				graded[a],
			)
		}
	}
}
