// Package formats writes a report as the course servers want it that run graders on their own machines: Gradescope,
// PrairieLearn, CodeGrade, Classroom 50, and whatever reads JUnit's XML.
package formats

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	_ "fiberlab/internal/platform/system" // ends a build for another system with one line
	"fiberlab/labs/grade"
)

var writers = map[string]func(io.Writer, *grade.Report) error{
	"gradescope": gradescope, "prairielearn": prairieLearn, "codegrade": codeGrade, "classroom50": classroom50,
	"junit": junit,
}

// Names returns the formats that there are, sorted.
func Names() []string {
	var names []string
	for name := range writers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Write writes the report in the format of that name. classroom50 also takes, from the environment, what its runner
// says of the submission.
func Write(w io.Writer, name string, r *grade.Report) error {
	write, known := writers[name]
	if !known {
		return fmt.Errorf("format %q: choose one of %s", name, strings.Join(Names(), ", "))
	}
	return write(w, r)
}

// unbuilt is what is wrong with a submission that could not be taken or built, else empty.
func unbuilt(r *grade.Report) string {
	if r.Build == nil || !r.Build.Failed {
		return ""
	}
	return "It does not build:\n" + strings.Join(r.Build.Said, "\n")
}

// about is what is said of the whole submission.
func about(r *grade.Report) string {
	lines := []string{fmt.Sprintf("Lab %s: %s (%s)", r.Lab, r.Title, r.Arch)}
	if text := unbuilt(r); text != "" {
		lines = append(lines, text)
	} else if r.Build != nil {
		lines = append(append(lines, "The compiler warns, which costs no points:"), r.Build.Said...)
	}
	for _, f := range r.Measured {
		lines = append(lines, fmt.Sprintf("%s: %v %s", f.Name, f.Value, f.Unit))
	}
	for _, remark := range r.Remarks {
		lines = append(lines, "Note: "+remark+".")
	}
	return strings.Join(append(lines, fmt.Sprintf("%d of %d points. Seed: %d.", r.Points, r.Of, r.Seed)), "\n")
}

// said is what is wrong in an item, one fault a line.
func said(item grade.ItemReport) string {
	var lines []string
	for _, f := range item.Faults {
		line := f.Text + f.Where() + fmt.Sprintf(" (section %s of the handout)", f.Section)
		if f.Schedule != "" {
			line += "\nschedule " + f.Schedule
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// WriteJSON writes v as one JSON document, for people and programs.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// gradescope writes a results.json: https://gradescope-autograders.readthedocs.io/en/latest/specs/
func gradescope(w io.Writer, r *grade.Report) error {
	type test struct {
		Score        float64 `json:"score"`
		MaxScore     float64 `json:"max_score"`
		Status       string  `json:"status"`
		Name         string  `json:"name"`
		Number       string  `json:"number"`
		Output       string  `json:"output"`
		OutputFormat string  `json:"output_format"`
		Visibility   string  `json:"visibility"`
	}
	result := struct {
		Score            float64 `json:"score"`
		Output           string  `json:"output"`
		OutputFormat     string  `json:"output_format"`
		Visibility       string  `json:"visibility"`
		StdoutVisibility string  `json:"stdout_visibility"`
		Tests            []test  `json:"tests"`
	}{float64(r.Points), about(r), "text", "visible", "hidden", []test{}}
	for i, item := range r.Items {
		status := "passed"
		if item.Points < item.Of {
			status = "failed"
		}
		result.Tests = append(result.Tests, test{
			float64(item.Points), float64(item.Of), status, item.Name, fmt.Sprint(i + 1), said(item), "text", "visible",
		})
	}
	return WriteJSON(w, result)
}

// prairieLearn writes a results.json: https://prairielearn.readthedocs.io/en/latest/externalGrading/
func prairieLearn(w io.Writer, r *grade.Report) error {
	type test struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Points      int    `json:"points"`
		MaxPoints   int    `json:"max_points"`
		Message     string `json:"message"`
	}
	result := struct {
		Gradable     bool     `json:"gradable"`
		Score        float64  `json:"score"`
		Output       string   `json:"output"`
		FormatErrors []string `json:"format_errors,omitempty"`
		Tests        []test   `json:"tests"`
	}{Gradable: true, Score: share(r), Output: about(r), Tests: []test{}}
	if text := unbuilt(r); text != "" {
		result.Gradable, result.FormatErrors = false, []string{text}
		return WriteJSON(w, result)
	}
	for _, item := range r.Items {
		result.Tests = append(result.Tests, test{
			item.Name, "section " + item.Section + " of the handout", item.Points, item.Of, said(item),
		})
	}
	return WriteJSON(w, result)
}

// share is the part of the points that was given, from 0 to 1.
func share(r *grade.Report) float64 {
	if r.Of == 0 {
		return 0
	}
	return float64(r.Points) / float64(r.Of)
}

// codeGrade writes the number from 0 to 1 that a Capture Points test reads:
// https://help.codegrade.com/for-teachers/creating-automatic-tests/creating-capture-points-tests
func codeGrade(w io.Writer, r *grade.Report) error {
	_, err := fmt.Fprintf(w, "%.4f\n", share(r))
	return err
}

// classroom50 writes a result.json: schemas/result-v1.schema.json of https://github.com/foundation50/classroom50
func classroom50(w io.Writer, r *grade.Report) error {
	type test struct {
		Name     string `json:"test-name"`
		Passed   bool   `json:"passed"`
		Score    int    `json:"score"`
		MaxScore int    `json:"max-score"`
		Output   string `json:"output"`
	}
	said := func(item grade.ItemReport) string {
		if text := unbuilt(r); text != "" {
			return text
		}
		return said(item)
	}
	tests := []test{}
	for _, item := range r.Items {
		tests = append(tests, test{item.Name, item.Points == item.Of, item.Points, item.Of, said(item)})
	}
	get := func(name, otherwise string) string {
		if value := os.Getenv(name); value != "" {
			return value
		}
		return otherwise
	}
	commit := os.Getenv("COMMIT_URL")
	return WriteJSON(w, struct {
		Schema     string `json:"schema"`
		Classroom  string `json:"classroom"`
		Assignment string `json:"assignment"`
		Type       string `json:"assignment_type"`
		Owner      string `json:"owner"`
		Submission string `json:"submission"`
		Commit     string `json:"commit"`
		Release    string `json:"release"`
		Review     string `json:"review"`
		Datetime   string `json:"datetime"` // the runner puts the commit's in its place
		Score      int    `json:"score"`
		MaxScore   int    `json:"max-score"`
		Tests      []test `json:"tests"`
	}{
		"classroom50/result/v1", os.Getenv("CLASSROOM"), os.Getenv("ASSIGNMENT"), get("ASSIGNMENT_TYPE", "individual"),
		get("OWNER", os.Getenv("USERNAME")), os.Getenv("SUBMISSION_TAG"), commit, os.Getenv("RELEASE_URL"),
		get("REVIEW_URL", commit), time.Now().UTC().Format("2006-01-02T15:04:05Z"), r.Points, r.Of, tests,
	})
}

// junit writes XML as JUnit's runners for Ant do, with the points as properties.
func junit(w io.Writer, r *grade.Report) error {
	type problem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type property struct {
		Name  string `xml:"name,attr"`
		Value int    `xml:"value,attr"`
	}
	type testCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *problem `xml:"failure"`
		Error   *problem `xml:"error"`
	}
	suite := struct {
		XMLName    xml.Name   `xml:"testsuite"`
		Name       string     `xml:"name,attr"`
		Tests      int        `xml:"tests,attr"`
		Failures   int        `xml:"failures,attr"`
		Errors     int        `xml:"errors,attr"`
		Properties []property `xml:"properties>property"`
		Cases      []testCase `xml:"testcase"`
		Out        string     `xml:"system-out"`
	}{
		Name: "lab " + r.Lab, Tests: len(r.Items), Properties: []property{{"points", r.Points}, {"of", r.Of}}, Out: about(r),
	}
	for _, item := range r.Items {
		c := testCase{Class: suite.Name, Name: item.Name}
		message := fmt.Sprintf("%d of %d points", item.Points, item.Of)
		if text := unbuilt(r); text != "" {
			c.Error = &problem{message, text}
			suite.Errors++
		} else if item.Points < item.Of {
			c.Failure = &problem{message, said(item)}
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
