package class

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fiberlab/labs/grade"
)

// Book is the gradebook of a class. It says the same however often the grading was interrupted.
type Book struct {
	Lab      string  `json:"lab"`
	Title    string  `json:"title"`
	Arch     string  `json:"arch"`
	Seed     uint64  `json:"seed"`
	Of       int     `json:"of"`       // the points that can be had
	Weight   float64 `json:"weight"`   // what the lab is worth in the course; 0: it is not known
	Examined int     `json:"examined"` // submissions that could be built
	Unbuilt  int     `json:"unbuilt"`  // submissions that could not be taken or built: no points
	Failed   int     `json:"failed"`   // submissions that the grader failed to grade: they have no points yet
	Items    []Item  `json:"items"`
	Students []Row   `json:"students"` // sorted by name
	Alike    []Pair  `json:"alike"`    // the likeliest first
}

// Item is how the class did in one item.
type Item struct {
	Name    string      `json:"name"`
	Section string      `json:"section"`
	Of      int         `json:"of"`
	Failed  int         `json:"failed"` // of those that were examined
	Why     []Diagnosis `json:"why"`    // the commonest first
}

// Diagnosis is what was said first of an item, to how many. Where they differ in numbers alone, Text is one of them.
type Diagnosis struct {
	Text     string `json:"text"`
	Students int    `json:"students"`
}

// Row is what a student gets.
type Row struct {
	Student string `json:"student"`
	Points  int    `json:"points"`
	Late    int    `json:"late"`  // days
	Lost    int    `json:"lost"`  // points, by being late: they are not in Points
	Items   []int  `json:"items"` // points, in the order of the items
	Note    string `json:"note"`  // why there are no points, if it was not examined
	Failed  bool   `json:"failed"`
	report  *grade.Report
}

// mostDiagnoses is how many diagnoses of an item a book has.
const mostDiagnoses = 3

// newBook makes the gradebook of records that are sorted by student.
func newBook(o Options, seed uint64, records []*Record) *Book {
	b := &Book{Weight: o.Weight, Lab: o.Lab.Number, Title: o.Lab.Title, Arch: o.Arch.Name, Seed: seed}
	said := make([][]string, len(o.Lab.ItemsOn(o.Arch)))
	for _, item := range o.Lab.ItemsOn(o.Arch) {
		b.Items = append(b.Items, Item{Name: item.Name, Section: item.Section, Of: item.Points, Why: []Diagnosis{}})
		b.Of += item.Points
	}
	for _, r := range records {
		row := Row{Student: r.Student, Items: make([]int, len(b.Items)), report: r.Report}
		switch {
		case r.Report == nil:
			b.Failed++
			row.Failed, row.Note = true, "not graded: "+firstLine(r.Failed)
		case r.Report.Build != nil && r.Report.Build.Failed:
			b.Unbuilt++
			row.Note = firstLine(strings.Join(r.Report.Build.Said, "\n"))
		default:
			b.Examined++
			row.Points = r.Report.Points
			for i, item := range r.Report.Items {
				row.Items[i] = item.Points
				if item.Points < item.Of {
					b.Items[i].Failed++
				}
				if len(item.Faults) > 0 {
					said[i] = append(said[i], item.Faults[0].Text)
				}
			}
		}
		if at, known := o.Times[row.Student]; known {
			row.Late, row.Lost = o.Late.Cost(at, row.Points)
			row.Points -= row.Lost
		} else if !o.Late.Due.IsZero() && row.Note == "" {
			row.Note = "not known when it was handed in"
		}
		b.Students = append(b.Students, row)
	}
	prints := map[string]fingerprints{}
	for _, r := range records {
		prints[r.Student] = r.prints
	}
	b.Alike = alike(handedOut(o.Lab), prints)
	for i := range b.Items {
		b.Items[i].Why = commonest(said[i])
	}
	return b
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// number is a number that is no part of a name, such as r12.
var number = regexp.MustCompile(`\b(?:0x[0-9a-f]+|\d+)\b`)

// commonest counts texts, and takes those that differ in numbers alone as one.
func commonest(texts []string) []Diagnosis {
	at := map[string]int{}
	all := []Diagnosis{}
	for _, text := range texts {
		key := number.ReplaceAllString(text, "#")
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, Diagnosis{Text: text})
		}
		all[i].Students++
	}
	slices.SortStableFunc(all, func(a, b Diagnosis) int { return cmp.Compare(b.Students, a.Students) })
	return all[:min(len(all), mostDiagnoses)]
}

// Figures returns the mean and the median of the points of all that are graded.
func (b *Book) Figures() (mean, median float64) {
	var points []int
	sum := 0
	for _, row := range b.Students {
		if !row.Failed {
			points = append(points, row.Points)
			sum += row.Points
		}
	}
	if len(points) == 0 {
		return 0, 0
	}
	slices.Sort(points)
	middle := len(points) / 2
	median = float64(points[middle])
	if len(points)%2 == 0 {
		median = float64(points[middle-1]+points[middle]) / 2
	}
	return float64(sum) / float64(len(points)), median
}

// write writes the gradebook as CSV and JSON, and the pages, into the folder of the results.
func (b *Book) write(out string) error {
	table, err := b.csv()
	if err != nil {
		return err
	}
	page, err := b.page()
	err = errors.Join(
		err, replace(filepath.Join(out, "gradebook.csv"), table), replace(filepath.Join(out, "gradebook.json"), encode(b)),
		replace(filepath.Join(out, "index.html"), page),
	)
	known := map[string]bool{}
	for _, row := range b.Students {
		known[row.Student] = true
		page, failed := b.studentPage(row)
		if failed == nil {
			failed = replace(filepath.Join(out, "students", row.Student+".html"), page)
		}
		err = errors.Join(err, failed)
	}
	return errors.Join(err, tidy(out, known))
}

// tidy removes the records and pages of submissions that are no longer there, and what a run that was killed has left.
// Files of others stay.
func tidy(out string, known map[string]bool) error {
	students := filepath.Join(out, "students")
	var failed error
	for _, dir := range []string{out, students} {
		entries, err := os.ReadDir(dir)
		failed = errors.Join(failed, err)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			student, record := strings.CutSuffix(e.Name(), ".json")
			switch {
			case strings.HasPrefix(e.Name(), ".new-"):
				failed = errors.Join(failed, os.Remove(path))
			case dir == students && record && !known[student]:
				var r Record
				text, err := os.ReadFile(path)
				if err == nil && json.Unmarshal(text, &r) == nil && r.Student == student {
					failed = errors.Join(failed, os.RemoveAll(filepath.Join(dir, student+".html")), os.Remove(path))
				}
			}
		}
	}
	return failed
}

// csv has a line for each student, with a column for each item.
func (b *Book) csv() ([]byte, error) {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	head := []string{"student", "points", "of", "days late", "note"}
	if b.Weight > 0 {
		head = append(head, "in the course")
	}
	for _, item := range b.Items {
		head = append(head, inert(item.Name))
	}
	lines := [][]string{head}
	for _, row := range b.Students {
		line := []string{
			inert(row.Student), strconv.Itoa(row.Points), strconv.Itoa(b.Of), strconv.Itoa(row.Late), inert(row.Note),
		}
		if b.Weight > 0 {
			line = append(line, strconv.FormatFloat(b.Weight*float64(row.Points)/float64(b.Of), 'f', 2, 64))
		}
		if row.Failed {
			line[1] = "" // no points yet are not 0 points
			if b.Weight > 0 {
				line[len(line)-1] = ""
			}
		}
		for _, points := range row.Items {
			line = append(line, strconv.Itoa(points))
		}
		lines = append(lines, line)
	}
	err := w.WriteAll(lines)
	return text.Bytes(), err
}

// inert is a text that a spreadsheet does not take for a formula.
func inert(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
