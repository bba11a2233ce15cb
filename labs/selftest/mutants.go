package selftest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fiberlab/labs"
	"fiberlab/labs/grade"
	"fiberlab/labs/mutate"
)

// mutants returns all mutants of the reference and of the files given in the lab's folder. It leaves out the files that
// the list excludes.
func (s Subject) mutants(list *mutate.Equivalents) ([]mutate.Mutant, error) {
	sources, err := s.sources()
	if err != nil {
		return nil, err
	}
	var others []string // in C: mutants differ in their callers, and in the states that are declared
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if ext := filepath.Ext(name); ext == ".h" || ext == ".c" {
			others = append(others, sources[name])
		}
	}
	var all []mutate.Mutant
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		given := slices.ContainsFunc(s.Lab.Given, func(file string) bool {
			return labs.InSwap(file) && filepath.Base(file) == name
		})
		if given || !s.Lab.Takes(s.Arch, name) || list.Excludes(s.Arch.Name, name) {
			continue
		}
		switch filepath.Ext(name) {
		case ".S":
			all = append(all, mutate.Assembly(s.Arch, name, sources[name])...)
		case ".c":
			if s.Lab.Examiner != nil {
				all = append(all, mutate.Concurrent(name, sources[name], others...)...)
				continue
			}
			all = append(all, mutate.C(name, sources[name])...)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: the reference has nothing in which there could be a fault", s)
	}
	return all, nil
}

// sources are the files of the reference and what the lab adds to them: their texts by their names.
func (s Subject) sources() (map[string]string, error) {
	texts := map[string]string{}
	for _, name := range slices.Concat(s.Lab.Fixed, s.Lab.Given) {
		text, err := s.Lab.File(name)
		if err != nil {
			return nil, err
		}
		texts[filepath.Base(name)] = string(text)
	}
	reference := filepath.Join(s.Folder, "reference")
	entries, err := os.ReadDir(reference)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(reference, e.Name()))
		if err != nil {
			return nil, err
		}
		texts[e.Name()] = string(text)
	}
	return texts, err
}

// mutantTime is how long the examination of an item may take of a mutant, which may have an endless loop. What ends
// after many steps ends within it on a busy machine.
const mutantTime = 30 * time.Second

// Mutants examines the mutants of the reference.
func (s Subject) Mutants(ctx context.Context, o Options) (Result, error) {
	var r Result
	equivalents, err := mutate.ReadEquivalents(filepath.Join(s.Folder, "equivalents.txt"))
	if err != nil {
		return r, err
	}
	all, err := s.mutants(equivalents)
	if err != nil {
		return r, err
	}
	reasons := make([]string, len(all))
	for i, m := range all {
		reasons[i] = equivalents.Reason(s.Arch.Name, m)
	}
	for _, name := range equivalents.Unknown(s.Arch.Name, "") {
		r.Misses = append(r.Misses, Miss{What: name, Why: "there is no such mutant"})
	}
	options := grade.Options{
		Arch: s.Arch, Dir: filepath.Join(s.Folder, "reference"), Seed: o.Seed, Emulator: o.Emulator,
		ItemTime: mutantTime,
	}
	if s.Lab.Examiner != nil { // steps and processor time end such a search
		options.ItemTime = itemTime
	}
	_, err = s.Lab.With(ctx, options, func(reference *grade.Bench) (*grade.Report, error) {
		w, err := newWorkshop(s, reference)
		if err != nil {
			return nil, err
		}
		reports, examined := make([]*grade.Report, len(all)), make([]bool, len(all))
		errs := make([]error, len(all))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(max(o.AtOnce, 1))
		var progress sync.Mutex
		every := max(o.Every, 1)
		done, chosen := 0, (len(all)-o.First+every-1)/every
		for i, m := range all {
			if i%every != o.First {
				continue
			}
			group.Go(func() error {
				reports[i], errs[i] = w.examine(ctx, m, func(f grade.Fault) bool { return names(f, m) })
				examined[i] = true
				progress.Lock()
				defer progress.Unlock()
				if done++; o.Progress != nil {
					o.Progress(done, chosen)
				}
				return ctx.Err()
			})
		}
		err = group.Wait()
		for i, report := range reports {
			switch {
			case errs[i] != nil: // a submission, whatever is wrong with it, must not keep the grader from its work
				r.Misses = append(r.Misses, Miss{What: all[i].Name(), Why: "the grader fails: " + errs[i].Error()})
			case report != nil:
				r.judge(all[i], reasons[i], report)
			case examined[i]:
				r.SameCode++
			}
		}
		if r.Unbuilt > 1 && r.Mutants+r.SameCode == 0 {
			r.Misses = append(r.Misses, Miss{What: s.String(), Why: fmt.Sprintf("none of %d mutants builds", r.Unbuilt)})
		}
		return nil, err
	})
	return r, err
}
