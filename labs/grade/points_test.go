package grade_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// read reads a points.toml with that text.
func read(t *testing.T, text string) (*grade.Points, error) {
	path := filepath.Join(t.TempDir(), "points.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return grade.ReadPoints(path)
}

// What is printed for each lab is a points.toml that changes nothing, also with the comments taken for settings.
func TestPointsText(t *testing.T) {
	for _, lab := range catalogue.All() {
		for _, a := range lab.Arches {
			text := lab.PointsText(a)
			p, err := read(t, text)
			require.NoError(t, err)
			weighed, err := lab.Weighed(p)
			require.NoError(t, err)
			for i, item := range lab.ItemsOn(a) {
				require.Equal(t, item.Points, weighed.ItemsOn(a)[i].Points)
			}
			p, err = read(t, strings.ReplaceAll(strings.ReplaceAll(text[strings.Index(text, "\n"):], "# [", "["), "\n# ", "\n"))
			require.NoError(t, err)
			require.Equal(t, 15.0, p.Weight)
			require.Equal(t, 10, p.Late.PerDay)
		}
	}
}

func TestWeighed(t *testing.T) {
	lab, err := catalogue.Find("02")
	require.NoError(t, err)
	before := lab.ItemsOn(machine.AMD64)
	p, err := read(t, "[items]\n\"rbx comes back\" = 0\n\"rbp comes back\" = 20\n")
	require.NoError(t, err)
	weighed, err := lab.Weighed(p)
	require.NoError(t, err)
	require.Len(t, weighed.ItemsOn(machine.AMD64), len(before)-1)
	for _, item := range weighed.ItemsOn(machine.AMD64) {
		require.NotEqual(t, "rbx comes back", item.Name)
		if item.Name == "rbp comes back" {
			require.Equal(t, 20, item.Points)
		}
	}
	for text, want := range map[string]string{
		"[items]\n\"rbx\" = 1\n":            `lab 02 has no item "rbx": fiberlab points 02 prints their names`,
		"[items]\n\"rbx comes back\" = -1":  `points for "rbx comes back": -1 is less than 0`,
		"points = 3":                        "points means nothing: fiberlab points LAB prints",
		"weight = inf":                      "weight is a number from 0 up",
		"weight = nan":                      "weight is a number from 0 up",
		"[late]\ndue = 2030-01-31":          "due has no zone: write a time as 2030-01-31T23:59:00+01:00",
		"[late]\nper_day = 10":              "late has per_day and no due: add when the lab is due",
		"[late]\nper_day = 101":             "per_day and most are 0 to 100",
		"[late]\ngrace = \"soon\"":          "invalid duration",
		"[late]\ngrace = \"-48h\"":          "grace is a duration from 0s up",
		"[items]\n\"rbx comes back\" = 1.5": "incompatible types",
	} {
		p, err := read(t, text)
		if err == nil {
			_, err = lab.Weighed(p)
		}
		require.ErrorContains(t, err, want, text)
	}
	p = &grade.Points{Items: map[string]int{}}
	for _, item := range before {
		p.Items[item.Name] = 0
	}
	_, err = lab.Weighed(p)
	require.ErrorContains(t, err, "all items are left out")
	_, err = grade.ReadPoints("none")
	require.ErrorContains(t, err, "none does not exist: fiberlab points LAB prints")
}

func TestLate(t *testing.T) {
	p, err := read(t, "[late]\ndue = 2030-01-31T23:59:00+01:00\ngrace = \"15m\"\nper_day = 10\nmost = 25\n")
	require.NoError(t, err)
	due := time.Date(2030, 1, 31, 22, 59, 0, 0, time.UTC)
	for after, want := range map[time.Duration][2]int{
		-time.Hour: {0, 0}, 15 * time.Minute: {0, 0}, 16 * time.Minute: {1, 8}, 24 * time.Hour: {1, 8},
		25 * time.Hour: {2, 17}, 100 * time.Hour: {5, 21},
	} {
		days, lost := p.Late.Cost(due.Add(after), 85)
		require.Equal(t, want, [2]int{days, lost}, after)
	}
	_, most := grade.Late{Due: due, PerDay: 50, Most: 50}.Cost(due.Add(time.Hour), 11)
	require.Equal(t, 5, most, "not more than half")
	days, lost := grade.Late{}.Cost(due, 85)
	require.Equal(t, [2]int{}, [2]int{days, lost})
}
