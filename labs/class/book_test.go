package class

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// evil is what a submission may have where a report quotes it.
const evil = `</style><script>document.title="taken"</script><img src=x onerror='document.title="taken"'>`

// sample is the book of a class with a right submission, a late one with faults, one that does not build, and one that
// the grader failed to grade.
func sample(t *testing.T) *Book {
	lab, err := catalogue.Find("02")
	require.NoError(t, err)
	due := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
	o := Options{
		Lab: lab, Arch: machine.AMD64, Weight: 15, Late: grade.Late{Due: due, PerDay: 10},
		Times: map[string]time.Time{"alice": due, "bob": due.Add(time.Hour)},
	}
	report := func(text string) *grade.Report {
		r := &grade.Report{Lab: lab.Number, Title: lab.Title, Arch: "amd64", Items: []grade.ItemReport{}}
		for i, item := range lab.ItemsOn(machine.AMD64) {
			given := grade.ItemReport{Name: item.Name, Of: item.Points, Points: item.Points, Section: item.Section}
			if text != "" && i > 0 {
				given.Points, given.Faults = 0, []grade.Fault{{
					Text: text, Section: item.Section, Schedule: strings.Repeat("0.1.", 60),
					Place: machine.Place{File: "swap.S", Line: 7},
				}}
			}
			r.Points += given.Points
			r.Of += item.Points
			r.Items = append(r.Items, given)
		}
		return r
	}
	return newBook(o, 7, []*Record{
		{Student: "alice", Report: report("")}, {Student: "bob", Report: report("r12 comes back changed " + evil)},
		{Student: `carol <b>"'#%?`, Report: lab.Unbuilt(machine.AMD64, 7, []string{evil, "more"})},
		{Student: "dave", Failed: "no memory"},
	})
}

func TestBook(t *testing.T) {
	b := sample(t)
	require.Equal(t, []int{2, 1, 1}, []int{b.Examined, b.Unbuilt, b.Failed})
	require.Equal(t, []int{0, 1}, []int{b.Items[0].Failed, b.Items[1].Failed})
	require.Equal(t, []int{1, 1, 11}, []int{b.Students[1].Late, b.Students[1].Lost, b.Students[1].Points})
	table, err := b.csv()
	require.NoError(t, err)
	lines := strings.Split(string(table), "\n")
	require.Contains(t, lines[0], "student,points,of,days late,note,in the course,a fresh fiber is entered,")
	require.Contains(t, lines[1], "alice,100,100,0,,15.00,12,")
	require.Contains(t, lines[2], "bob,11,100,1,,1.65,12,0,")
	require.Contains(t, lines[4], "dave,,100,0,not graded: no memory,,0,")
	mean, median := b.Figures()
	require.InDelta(t, 37, mean, 1e-9)
	require.InDelta(t, 11, median, 1e-9)
}

func TestPercent(t *testing.T) {
	for want, share := range map[int][2]int{0: {0, 0}, 17: {1, 6}, 33: {1, 3}, 50: {1, 2}, 67: {2, 3}, 100: {6, 6}} {
		require.Equal(t, want, percent(share[0], share[1]), share)
	}
}

func TestStudentPageNamesAPlaceOnce(t *testing.T) {
	b := sample(t)
	page := func(text string) string {
		b.Students[1].report.Items[1].Faults[0].Text = text
		page, err := b.studentPage(b.Students[1])
		require.NoError(t, err)
		item, _, _ := strings.Cut(string(page)[strings.Index(string(page), text):], "</li>")
		return item
	}
	require.Equal(t, 1, strings.Count(page("it crashed (swap.S:7)"), "(swap.S:7)"))
	require.Equal(t, 1, strings.Count(page("it crashed"), "<span> (swap.S:7)</span>"))
}
