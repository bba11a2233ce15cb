package hostile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/grade"
	"fiberlab/labs/hostile"
	"fiberlab/labs/machine"
)

// None of them gets a point, and each is told why. All are tried with lab 8, and a part with the others and, if
// FIBERLAB_SELFTEST is set, for both architectures.
func TestExplored(t *testing.T) {
	if len(strings.Fields(os.Getenv("FIBERLAB_EXEC"))) > 0 {
		t.Skip("they are graded on the machine's own architecture")
	}
	part := 0
	for _, a := range []*machine.Arch{machine.AMD64, machine.ARM64} {
		if a != machine.Native() && os.Getenv("FIBERLAB_SELFTEST") == "" {
			continue
		}
		for _, number := range hostile.ExploredLabs() {
			part++
			for j, e := range hostile.ExploredSet(number) {
				whole := number == "08" && a == machine.Native()
				if !whole && j%5 != part%5 || testing.Short() && j%3 != part%3 {
					continue
				}
				t.Run(filepath.Join(number, e.Name, a.Name), func(t *testing.T) {
					t.Parallel()
					lab, err := catalogue.Find(number)
					require.NoError(t, err)
					first, dir := *lab, t.TempDir()
					first.Items = lab.Items[:1]
					require.NoError(t, e.Write(dir, ".."))
					r, err := first.Grade(t.Context(), grade.Options{Arch: a, Dir: dir, Seed: 1})
					if errors.Is(err, machine.ErrNoPtrace) || errors.Is(err, machine.ErrNoEmulator) {
						t.Skip(err)
					}
					require.NoError(t, err)
					require.Zero(t, r.Points)
					require.Contains(t, said(r), e.Says)
				})
			}
		}
	}
}
