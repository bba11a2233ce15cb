package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// answers are the files that students must not get.
var answers = regexp.MustCompile(
	`labs/.*(?:/solutions/|/notes\.md$|/equivalents\.txt$|/reference/[^R/])|` +
		`labs/(?:hostile|selftest|mutate)/|/teachers\.md$`,
)

// What `make -C labs handout` writes has all that a lab needs, and no answers.
func TestHandout(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "labs.tar.gz")
	hand := func(args ...string) string {
		said, err := command(
			"make",
			append(
				[]string{"-s", "-C", filepath.Join(root, "labs"), "handout", "OUT=" + archive},
				args...)...).CombinedOutput()
		require.NoError(t, err, "%s", said)
		list, err := command("tar", "-t", "-z", "-f", archive).CombinedOutput()
		require.NoError(t, err, "%s", list)
		for _, name := range strings.Fields(string(list)) {
			require.False(t, answers.MatchString(name), "%v: %s is handed out", args, name)
		}
		return string(list)
	}
	_, noClone := os.Stat(filepath.Join(root, ".git"))
	if _, noGit := exec.LookPath("git"); noClone != nil || noGit != nil {
		said, err := command(
			"make", "-s", "-C", filepath.Join(root, "labs"), "handout", "OUT="+archive,
		).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(said), "hand out from a clone by git")
		return
	}
	require.Contains(t, hand("SOURCE=yes"), "fiberlab/asm/swap_amd64.S\n")

	few := hand("LABS=01 02")
	require.Contains(t, few, "fiberlab/labs/01/handout.md\n")
	require.NotContains(t, few, "fiberlab/labs/swap/swap_amd64.S")
	require.NotContains(t, few, "fiberlab/asm/swap_amd64.S")
	require.NotContains(t, few, "fiberlab/asm/inline.h")
	scheduler := hand("LABS=06 07 08")
	require.Contains(t, scheduler, "fiberlab/asm/swap_amd64.S\n")
	require.Contains(t, scheduler, "fiberlab/labs/swap/trampoline_amd64.S\n")

	// Labs 6 and 9 give the first frame that lab 4 asks for.
	stacks := hand("LABS=04")
	require.Contains(t, stacks, "fiberlab/labs/swap/swap_amd64.S\n")
	require.NotContains(t, stacks, "fiberlab/labs/swap/context.c")
	require.NotContains(t, stacks, "fiberlab/labs/swap/trampoline_")

	// Lab 4 gives the swaps that labs 2 and 3 ask for.
	all := hand()
	require.NotContains(t, all, "fiberlab/labs/swap/swap_amd64.S")
	for _, lab := range []string{"01", "02", "03", "05"} {
		require.Contains(t, all, "fiberlab/labs/"+lab+"/handout.md\n")
		require.Contains(t, all, "fiberlab/labs/"+lab+"/Makefile\n")
	}
	said, err := command("tar", "-x", "-z", "-f", archive, "-C", dir).CombinedOutput()
	require.NoError(t, err, "%s", said)
	// All that is imported and embedded is there.
	program := filepath.Join(dir, "labs")
	build := command("go", "build", "-buildvcs=false", "-o", program, "./cmd/labs")
	build.Dir, build.Env = filepath.Join(
		dir, "fiberlab",
	), append(
		os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH,
	)
	said, err = build.CombinedOutput()
	require.NoError(t, err, "%s", said)

	// A vendored copy needs neither a network nor modules that were fetched.
	require.Contains(t, hand("VENDOR=yes"), "fiberlab/vendor/modules.txt\n")
	said, err = command("tar", "-x", "-z", "-f", archive, "-C", dir).CombinedOutput()
	require.NoError(t, err, "%s", said)
	load := command("go", "list", "-deps", "./cmd/labs")
	load.Dir, load.Env = build.Dir, append(
		build.Env, "GOFLAGS=-mod=vendor", "GOPROXY=off", "GOMODCACHE="+filepath.Join(dir, "modules"),
	)
	said, err = load.CombinedOutput()
	require.NoError(t, err, "%s", said)

	argv := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), program, "step")
	said, err = command(argv[0], argv[1:]...).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "this copy of fiberlab has no references: name a lab and a folder, such as 0")
}

// A path may have blanks, though make splits words there, and what is built may go elsewhere.
func TestBlankInThePath(t *testing.T) {
	labs := filepath.Join(t.TempDir(), "my labs", "labs")
	require.NoError(t, os.MkdirAll(filepath.Join(labs, "02"), 0o700))
	for _, file := range []string{"Makefile", "lab.mk", "02/Makefile"} {
		text, err := os.ReadFile(filepath.Join(root, "labs", file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(labs, file), text, 0o600))
	}
	scripts := filepath.Join(labs, "..", "scripts")
	require.NoError(t, os.Mkdir(scripts, 0o700))
	require.NoError(
		t, os.WriteFile(filepath.Join(scripts, "need"), []byte("#!/bin/sh\necho needs: $*\nexit 1\n"), 0o700),
	)
	elsewhere := filepath.Join(t.TempDir(), "a copy")
	require.NoError(t, os.CopyFS(elsewhere, os.DirFS(filepath.Join(labs, "02"))))
	for _, args := range [][]string{
		{"-C", labs, "handout"}, {"-C", filepath.Join(labs, "02")},
		{"-C", elsewhere, "FIBERLAB=" + filepath.Dir(labs)},
	} {
		said, err := command("make", args...).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(said), "needs: go certs", "%v", args)
	}
	said, err := command("make", "-C", filepath.Join(labs, "02"), "BUILD=/proc/none").CombinedOutput()
	require.Error(t, err)
	require.Contains(
		t, string(said),
		"fiberlab: /proc/none cannot be written: name another folder for what is built: make BUILD=/tmp/labs",
	)
}

// command is a command to which git's owner of the folder does not matter.
func command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Env = append(
		os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "MAKEFLAGS=",
	)
	return c
}
