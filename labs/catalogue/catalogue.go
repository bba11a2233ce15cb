// Package catalogue lists the labs that there are.
package catalogue

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fiberlab/labs/check/conventions"
	"fiberlab/labs/check/explored"
	"fiberlab/labs/check/stacks"
	"fiberlab/labs/check/swap"
	"fiberlab/labs/check/ucontext"
	"fiberlab/labs/grade"
)

// All returns the labs in the order of their numbers.
func All() []*grade.Lab {
	all := slices.Concat(conventions.Labs(), swap.Labs(), stacks.Labs(), ucontext.Labs(), explored.Labs())
	slices.SortFunc(all, func(a, b *grade.Lab) int { return strings.Compare(a.Number, b.Number) })
	return all
}

// Find returns the lab of that number, 02 or 2, or the one in the folder of that path, a teacher's own. A number is no
// path: the current folder may be a submission, which must not bring the lab along. The error names the labs that
// there are.
func Find(number string) (*grade.Lab, error) {
	var numbers []string
	for _, l := range All() {
		if l.Number == number || l.Number == "0"+number {
			return l, nil
		}
		numbers = append(numbers, l.Number)
	}
	if strings.Trim(number, "0123456789") != "" {
		if _, err := os.Stat(filepath.Join(number, grade.OwnFile)); err == nil {
			return explored.Own(number)
		}
	}
	return nil, fmt.Errorf("lab %q: there are %s", number, strings.Join(numbers, ", "))
}
