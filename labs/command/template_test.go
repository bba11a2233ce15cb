package command_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// workflow is what the test looks at in a workflow of GitHub Actions.
type workflow struct {
	Name string
	On   []string
	Env  map[string]string
	Jobs map[string]struct {
		RunsOn string `yaml:"runs-on"`
		Steps  []struct {
			Name, Uses, Run string
			WorkingDir      string `yaml:"working-directory"`
			With            map[string]string
		}
	}
}

// The template for students' repositories does what it says: its own commands are run, in folders laid out as it has
// them checked out.
func TestTemplate(t *testing.T) {
	controls(t, machine.Native())
	text, err := os.ReadFile("../ci-template.yml")
	require.NoError(t, err)
	var w workflow
	require.NoError(t, yaml.Unmarshal(text, &w))
	require.Contains(t, w.On, "push")
	_, err = catalogue.Find(w.Env["LAB"])
	require.NoError(t, err)
	require.Contains(t, w.Jobs, "grade")
	here, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, step := range w.Jobs["grade"].Steps {
		for _, key := range []string{"go-version-file", "cache-dependency-path"} {
			if path := step.With[key]; path != "" {
				require.FileExists(t, filepath.Join(here, strings.TrimPrefix(path, "fiberlab/")))
			}
		}
	}
	for dir, want := range map[string]int{"labs/01/reference": 100, "labs/01": 0} {
		root := t.TempDir()
		summary := filepath.Join(root, "summary")
		require.NoError(t, os.Symlink(here, filepath.Join(root, "fiberlab")))
		require.NoError(t, os.CopyFS(filepath.Join(root, "student"), os.DirFS(filepath.Join(here, dir))))
		for _, step := range w.Jobs["grade"].Steps {
			if step.Run == "" {
				continue
			}
			c := exec.Command("bash", "-e", "-o", "pipefail", "-c", step.Run)
			c.Dir = filepath.Join(root, step.WorkingDir)
			c.Env = append(
				nativeEnvironment(), "GITHUB_STEP_SUMMARY="+summary, "GITHUB_RUN_ID=4711", "LAB="+w.Env["LAB"],
				"ARCH="+nativeArch(t),
			)
			out, err := c.CombinedOutput()
			if step.Name == "grade" && want < 100 {
				require.Error(t, err)
				require.Equal(t, 1, c.ProcessState.ExitCode(), string(out))
				continue
			}
			require.NoError(t, err, string(out))
		}
		var r grade.Report
		report, err := os.ReadFile(filepath.Join(root, "report.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(report, &r))
		require.Equal(t, want, r.Points)
		shown, err := os.ReadFile(summary)
		require.NoError(t, err)
		require.Contains(t, string(shown), "of 100 points.")
		require.Contains(t, string(shown), "Seed: 4711.")
	}
}

// nativeEnvironment is the environment without what makes Go build for another system than its programs run on.
func nativeEnvironment() []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "GOARCH", "GOOS", "CC", "CXX", "FIBERLAB_EXEC", "CGO_CFLAGS":
		default:
			env = append(env, v)
		}
	}
	return env
}

// nativeArch is the architecture for which Go builds by default. Under an emulator, this test runs on another one.
func nativeArch(t *testing.T) string {
	c := exec.Command("go", "env", "GOARCH")
	c.Env = nativeEnvironment()
	out, err := c.Output()
	require.NoError(t, err)
	require.Contains(t, []string{"amd64", "arm64"}, strings.TrimSpace(string(out)), runtime.GOARCH)
	return strings.TrimSpace(string(out))
}
