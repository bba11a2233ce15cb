package formats

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// report is one with lost points, and text that no format takes as it is.
func report() *grade.Report {
	return &grade.Report{
		Lab: "02", Title: "The swap", Arch: "amd64", Seed: 7, Points: 12, Of: 20, Items: []grade.ItemReport{
			{Name: "r12 comes back", Points: 12, Of: 12, Section: "2.1"},
			{Name: "r13 comes back", Of: 8, Section: "2.2", Faults: []grade.Fault{
				{Text: "r13 is ]]> </failure> \x1b[31m \xff", Section: "2.2", Place: machine.Place{File: "swap.S", Line: 3}},
			}},
		},
	}
}

// unbuiltReport is one of a submission that does not build.
func unbuiltReport(t *testing.T) *grade.Report {
	lab, err := catalogue.Find("02")
	require.NoError(t, err)
	return lab.Unbuilt(machine.AMD64, 7, []string{"swap.S:1: error", "more"})
}

// decode decodes what the format says, which must have no other fields than into.
func decode(t *testing.T, format string, r *grade.Report, into any) {
	var out bytes.Buffer
	require.NoError(t, Write(&out, format, r))
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(into), format)
}

// The fields are those that Gradescope documents.
func TestGradescope(t *testing.T) {
	type test struct {
		Score, Max_score              float64
		Status, Name, Name_format     string
		Number, Output, Output_format string
		Tags                          []string
		Visibility                    string
		Extra_data                    map[string]any
	}
	type results struct {
		Score, Execution_time                                       float64
		Output, Output_format, Test_output_format, Test_name_format string
		Visibility, Stdout_visibility                               string
		Extra_data                                                  map[string]any
		Tests                                                       []test
		Leaderboard                                                 []any
	}
	var got results
	decode(t, "gradescope", report(), &got)
	require.Equal(t, 12.0, got.Score)
	require.Len(t, got.Tests, 2)
	require.Equal(t, []any{12.0, 12.0, "passed"}, []any{got.Tests[0].Score, got.Tests[0].Max_score, got.Tests[0].Status})
	require.Equal(t, []any{0.0, 8.0, "failed"}, []any{got.Tests[1].Score, got.Tests[1].Max_score, got.Tests[1].Status})
	require.Contains(t, got.Tests[1].Output, "(swap.S:3) (section 2.2 of the handout)")
	for _, format := range []string{got.Output_format, got.Tests[0].Output_format} {
		require.Contains(t, []string{"text", "html", "simple_format", "md", "ansi"}, format)
	}
	for _, visibility := range []string{got.Visibility, got.Stdout_visibility, got.Tests[1].Visibility} {
		require.Contains(t, []string{"hidden", "after_due_date", "after_published", "visible"}, visibility)
	}
	got = results{}
	decode(t, "gradescope", unbuiltReport(t), &got)
	require.Zero(t, got.Score)
	require.Contains(t, got.Output, "It does not build:\nswap.S:1: error\nmore")
}

// The fields are those that PrairieLearn documents, and the score is a share.
func TestPrairieLearn(t *testing.T) {
	type results struct {
		Gradable        bool
		Score           float64
		Message, Output string
		Format_errors   []string
		Images          []any
		Tests           []struct {
			Name, Description, Message, Output string
			Points, Max_points                 float64
			Images                             []any
		}
	}
	var got results
	decode(t, "prairielearn", report(), &got)
	require.True(t, got.Gradable)
	require.Equal(t, 0.6, got.Score)
	require.Equal(t, []float64{0, 8}, []float64{got.Tests[1].Points, got.Tests[1].Max_points})
	require.Contains(t, got.Tests[1].Message, "r13 is")
	got = results{}
	decode(t, "prairielearn", unbuiltReport(t), &got)
	require.False(t, got.Gradable)
	require.Contains(t, got.Format_errors[0], "swap.S:1: error")
}

// The schema result-v1 needs all of these fields, and allows others only in a test.
func TestClassroom50(t *testing.T) {
	for name, value := range map[string]string{
		"CLASSROOM": "os", "ASSIGNMENT": "swap", "OWNER": "alice", "SUBMISSION_TAG": "submit/2030-01-31T235900Z-abc",
		"COMMIT_URL": "https://example.org/commit", "RELEASE_URL": "https://example.org/release", "REVIEW_URL": "",
	} {
		t.Setenv(name, value)
	}
	var got map[string]any
	decode(t, "classroom50", report(), &got)
	for _, name := range []string{
		"schema", "classroom", "assignment", "assignment_type", "owner", "submission", "commit", "release", "review",
		"datetime",
	} {
		require.NotEmpty(t, got[name], name)
	}
	require.Len(t, got, 13)
	require.Equal(t, "classroom50/result/v1", got["schema"])
	require.Regexp(t, regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`), got["datetime"])
	require.Equal(t, []any{12.0, 20.0}, []any{got["score"], got["max-score"]})
	test := got["tests"].([]any)[1].(map[string]any)
	require.Equal(t, []any{"r13 comes back", false, 0.0, 8.0},
		[]any{test["test-name"], test["passed"], test["score"], test["max-score"]})
}

// A Capture Points test reads one number from 0 to 1.
func TestCodeGrade(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Write(&out, "codegrade", report()))
	require.Equal(t, "0.6000\n", out.String())
}

func TestJUnit(t *testing.T) {
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Cases    []struct {
			Name    string  `xml:"name,attr"`
			Failure *string `xml:"failure"`
			Error   *string `xml:"error"`
		} `xml:"testcase"`
	}
	var out bytes.Buffer
	require.NoError(t, Write(&out, "junit", report()))
	require.NoError(t, xml.Unmarshal(out.Bytes(), &suite))
	require.Equal(t, []int{2, 1, 0}, []int{suite.Tests, suite.Failures, suite.Errors})
	require.Nil(t, suite.Cases[0].Failure)
	require.Contains(t, *suite.Cases[1].Failure, "r13 is ]]> </failure>")
	out.Reset()
	require.NoError(t, Write(&out, "junit", unbuiltReport(t)))
	suite.Cases = nil
	require.NoError(t, xml.Unmarshal(out.Bytes(), &suite))
	require.Equal(t, suite.Tests, suite.Errors)
	require.EqualError(
		t, Write(&out, "moodle", report()),
		`format "moodle": choose one of classroom50, codegrade, gradescope, junit, prairielearn`,
	)
}

// Each script that a course server starts grades a submission that is laid out as the server documents it.
func TestScripts(t *testing.T) {
	if err := machine.Controls(machine.Native()); err != nil {
		t.Skip(err)
	}
	if os.Getenv("FIBERLAB_EXEC") != "" {
		t.Skip("the scripts start programs by themselves, and no emulator")
	}
	root := t.TempDir()
	source := filepath.Join(root, "source")
	for _, dir := range []string{source, filepath.Join(root, "tests")} {
		require.NoError(t, os.Mkdir(dir, 0o700))
	}
	labs := filepath.Join(source, "labs")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", labs, "fiberlab/cmd/labs")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, student := range []string{"submission", "student"} {
		require.NoError(t, os.CopyFS(filepath.Join(root, student, "deep"), os.DirFS("../01/reference")))
	}
	for _, name := range []string{"01/lab.toml", "labs/01/points.toml"} { // which a student must not bring along
		path := filepath.Join(root, "student", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("nonsense"), 0o600))
	}
	for name, text := range map[string]string{"lab": "01\n", "arch": machine.Native().Name + "\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(source, name), []byte(text), 0o600))
	}
	here, err := filepath.Abs("..")
	require.NoError(t, err)
	for script, want := range map[string]struct {
		dir, result string
		full        any
	}{
		"gradescope/run_autograder":  {root, "results/results.json", 100.0},
		"prairielearn/entrypoint.sh": {root, "results/results.json", 1.0},
		"classroom50/autograder.py":  {filepath.Join(root, "student"), "result.json", 100.0},
	} {
		if _, err := exec.LookPath("python3"); err != nil && strings.HasSuffix(script, ".py") {
			continue
		}
		c := exec.Command(filepath.Join(here, script))
		c.Dir = want.dir
		c.Env = append(os.Environ(), "AUTOGRADER="+root, "GRADE="+root, "CLASSROOM50_BUNDLE_DIR="+source, "LAB=01",
			"PATH="+source+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s: %s", script, out)
		text, err := os.ReadFile(filepath.Join(want.dir, want.result))
		require.NoError(t, err)
		var got map[string]any
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, want.full, got["score"], script)
	}
}
