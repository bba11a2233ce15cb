package platform

import (
	"encoding/json"
	"go/version"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goCommand runs the go command as for that system, which it is given as GOOS GOARCH CGO_ENABLED, and returns
// what it printed: its warnings only if it failed.
func goCommand(system [3]string, args ...string) (string, error) {
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), "GOFLAGS=", "GOOS="+system[0], "GOARCH="+system[1], "CGO_ENABLED="+system[2])
	var warnings strings.Builder
	c.Stderr = &warnings
	out, err := c.Output()
	if err != nil {
		out = append(out, warnings.String()...)
	}
	return strings.TrimSpace(string(out)), err
}

// A build that cannot succeed ends with one line, which names the remedy.
func TestOtherBuildsEndWithOneLine(t *testing.T) {
	const needsCgo, needsLinux = "CGO_ENABLED=1", "fiberlab runs on Linux"
	for system, remedy := range map[[3]string]string{
		{"linux", "amd64", "0"}:   needsCgo,
		{"linux", "arm64", "0"}:   needsCgo,
		{"linux", "riscv64", "0"}: needsCgo,
		{"linux", "386", "1"}:     needsLinux,
		{"darwin", "arm64", "0"}:  needsLinux,
		{"darwin", "arm64", "1"}:  needsLinux,
		{"windows", "amd64", "0"}: needsLinux,
	} {
		out, err := goCommand(system, "build", "fiberlab/internal/platform")
		require.Error(t, err, system)
		lines := strings.Split(out, "\n")
		require.Len(t, lines, 2, out) // the package's name and the error
		require.Contains(t, lines[1], remedy, system)
	}
}

// buildsAnywhere are the packages that need no other of fiberlab.
var buildsAnywhere = []string{
	"fiberlab/internal/platform/system", "fiberlab/asm/ctest", "fiberlab/bench/predict", "fiberlab/internal/browsertest",
	"fiberlab/internal/leaktest", "fiberlab/scripts/check-run", "fiberlab/scripts/tally",
	"fiberlab/tests/internal/check",
}

// needsNoC reports whether a package belongs to what grades: students build it with the Go command alone. It needs the
// sources in package asm.
func needsNoC(name string) bool {
	isLab := name == "fiberlab/labs" || strings.HasPrefix(name, "fiberlab/labs/") || name == "fiberlab/cmd/labs"
	return isLab || name == "fiberlab/asm"
}

func TestLabsNeedNoCgo(t *testing.T) {
	out, err := goCommand(
		[3]string{"linux", runtime.GOARCH, "0"}, "build", "-o", t.TempDir()+"/labs", "fiberlab/cmd/labs",
	)
	require.NoError(t, err, out)
}

// All other packages wait for that line, and then add no errors.
func TestAllPackagesStandOnThisOne(t *testing.T) {
	for _, system := range [][3]string{{"linux", "amd64", "0"}, {"darwin", "arm64", "0"}} {
		out, err := goCommand(
			system, "list", "-f", "{{if .GoFiles}}{{.ImportPath}}: {{join .Deps \" \"}}{{end}}", "fiberlab/...",
		)
		require.NoError(t, err, out)
		packages := strings.Split(out, "\n")
		require.Greater(t, len(packages), 10)
		for _, p := range packages {
			name, deps, _ := strings.Cut(p, ": ")
			wanted := "fiberlab/internal/platform"
			if name == wanted || needsNoC(name) {
				wanted += "/system"
				require.NotContains(t, strings.Fields(deps), "fiberlab/internal/platform", name)
			}
			if !slices.Contains(buildsAnywhere, name) {
				require.Contains(t, strings.Fields(deps), wanted, name)
			}
		}
	}
}

// Only programs that do input and output by package uring need liburing; and its rival, a server in C.
func TestOnlyOnePackageNeedsLiburing(t *testing.T) {
	out, err := goCommand(
		[3]string{"linux", runtime.GOARCH, "1"}, "list", "-f", "{{.ImportPath}}: {{.CgoLDFLAGS}}", "fiberlab/...",
	)
	require.NoError(t, err, out)
	var packages []string
	for line := range strings.Lines(out) {
		if name, flags, _ := strings.Cut(line, ": "); strings.Contains(flags, "uring") {
			packages = append(packages, name)
		}
	}
	require.Equal(t, []string{"fiberlab/sched/uring", "fiberlab/tests/internal/bareecho"}, packages)
	out, err = goCommand(
		[3]string{"linux", runtime.GOARCH, "1"}, "list", "-deps", "fiberlab/fiber", "fiberlab/sched",
		"fiberlab/sched/fibersync", "fiberlab/sched/forkjoin", "fiberlab/sched/ctask", "fiberlab/sched/trace",
	)
	require.NoError(t, err, out)
	require.NotContains(t, strings.Fields(out), "fiberlab/sched/uring")
}

// The dev container has a Go that is new enough, and installs what scripts/need knows.
func TestDevContainer(t *testing.T) {
	var container struct {
		Image             string
		PostCreateCommand string
	}
	text, err := os.ReadFile("../../.devcontainer/devcontainer.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &container))

	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	oldest := regexp.MustCompile(`(?m)^go (1\.\d+)`).FindStringSubmatch(string(mod))
	image := regexp.MustCompile(`^golang:(1\.\d+)-`).FindStringSubmatch(container.Image)
	require.NotNil(t, oldest)
	require.NotNil(t, image, container.Image)
	require.GreaterOrEqual(t, version.Compare("go"+image[1], "go"+oldest[1]), 0)

	need, _, _ := strings.Cut(container.PostCreateCommand, " && ")
	words := strings.Fields(need)
	require.Equal(t, "scripts/need", words[0])
	script, err := os.ReadFile("../../scripts/need")
	require.NoError(t, err)
	for _, word := range words[1:] {
		require.Contains(t, string(script), "\nhas_"+word+"() {")
	}
}

// On the systems that fiberlab is for, nothing is in the way.
func TestThisBuildGoesOn(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		out, err := goCommand([3]string{"linux", arch, "1"}, "build", "fiberlab/internal/platform")
		require.NoError(t, err, out)
	}
}
