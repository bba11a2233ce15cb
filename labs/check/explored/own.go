package explored

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/BurntSushi/toml"

	"fiberlab/labs/grade"
)

// Own returns the lab in the folder dir, which grade.OwnFile describes. Its headers and scenarios are read when a
// submission is built. The error names the file and what is wrong there.
func Own(dir string) (*grade.Lab, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	var own struct {
		Title    string   `toml:"title"`
		Sources  []string `toml:"sources"` // the patterns of what is handed in
		Given    []string `toml:"given"`   // headers that are taken from the folder, whatever was handed in
		Handout  string   `toml:"handout"`
		Scenario []struct {
			File        string `toml:"file"` // in the folder tests
			Name        string `toml:"name"`
			Points      int    `toml:"points"`
			Section     string `toml:"section"`
			Preemptions int    `toml:"preemptions"`
			Schedules   int    `toml:"schedules"`
		} `toml:"scenario"`
	}
	path := filepath.Join(dir, grade.OwnFile)
	about, err := toml.DecodeFile(path, &own)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	wrong := func(format string, args ...any) (*grade.Lab, error) {
		return nil, fmt.Errorf("%s: %s: labs/own.md describes the file", path, fmt.Sprintf(format, args...))
	}
	switch unknown := about.Undecoded(); {
	case len(unknown) > 0:
		return wrong("%s means nothing", unknown[0])
	case own.Title == "" || len(own.Sources) == 0 || len(own.Scenario) == 0:
		return wrong("it needs a title, sources and a scenario")
	}
	var scenarios []scenario
	for _, s := range own.Scenario {
		if s.File == "" || filepath.Base(s.File) != s.File || s.Name == "" || s.Points <= 0 || s.Schedules <= 0 {
			return wrong("scenario %q needs a file in tests, a name, points, and how many schedules to try at most", s.Name)
		}
		if s.Preemptions < 0 {
			return wrong("scenario %q has preemptions below 0: leave the line out for any number", s.Name)
		}
		if slices.ContainsFunc(scenarios, func(other scenario) bool { return other.name == s.Name }) {
			return wrong("two scenarios have the name %q", s.Name)
		}
		scenarios = append(scenarios, scenario{
			file: s.File, name: s.Name, points: s.Points, section: s.Section, preemptions: s.Preemptions,
			schedules: s.Schedules,
		})
	}
	l := lab(filepath.Base(dir), own.Title, own.Sources, scenarios)
	l.Fixed, l.Folder, l.Handout = own.Given, dir, cmp.Or(own.Handout, l.Handout)
	for _, name := range own.Given {
		if _, err := l.File(name); err != nil {
			return nil, err
		}
	}
	for _, s := range scenarios {
		if _, err := os.Stat(filepath.Join(dir, "tests", s.file)); err != nil {
			return nil, err
		}
	}
	return l, nil
}
