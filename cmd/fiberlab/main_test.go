package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fiberlab/cmd/fiberlab/wordcount/wordcounttest"
	"fiberlab/sched/uring"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
	"fiberlab/bench"
	"fiberlab/fiber"
	"fiberlab/labs/sandbox"
)

// asCommand names the environment variable that makes this test program the command itself.
const asCommand = "FIBERLAB_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	sandbox.Init()
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command returns the command fiberlab with args, to be run as a process.
func command(args ...string) *exec.Cmd {
	words := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), os.Args[0])
	words = append(words, args...)
	c := exec.Command(words[0], words[1:]...)
	c.Env = append(os.Environ(), asCommand+"=1", "NO_COLOR=", "TERM=xterm", "LC_ALL=C.UTF-8", fiber.EnvBackend+"=")
	return c
}

// outcome is what a run of the command left behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// test runs the command in this process, as main does.
func (l *lab) test(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	l.stdout, l.stderr = &stdout, &stderr
	err := l.execute(t.Context(), args)
	stderr.WriteString(message(err))
	require.Equal(t, fiber.Stats{}, fiber.ReadStats(), "something is still held")
	return outcome{exitCode(err), stdout.String(), stderr.String()}
}

// run runs the command as a process.
func run(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := command(args...)
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return outcome{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func requireOneLine(t *testing.T, text string) {
	t.Helper()
	require.Equal(t, 1, strings.Count(text, "\n"), "one line, not: %q", text)
	require.True(t, strings.HasPrefix(text, "fiberlab: "), text)
}

// In an emulator a start takes ten times as long, and which line a mistake is answered by does not depend on the
// architecture: one case of six takes part.
func TestExitCodes(t *testing.T) {
	dir, pipe := t.TempDir(), t.TempDir()+"/pipe"
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	wordcounttest.WriteFiles(t, dir, map[string]string{"file": "text\n", "empty/": ""})
	type mistake struct {
		args []string
		code int
		text string
	}
	cases := map[string]mistake{
		"unknown flag": {
			[]string{"run", "--speed"}, exitUsage, "unknown flag: --speed: fiberlab run --help lists the flags",
		},
		"unknown command":  {[]string{"walk"}, exitUsage, `"walk" is no command: fiberlab --help lists the commands`},
		"mistyped command": {[]string{"rum"}, exitUsage, `"rum" is no command: is run meant?`},
		"two directories":  {[]string{"run", dir, dir}, exitUsage, "2 directories: give one DIR"},
		"no such directory": {
			[]string{"run", dir + "/none"}, exitUsage, `/none": no such file or directory: name one`,
		},
		"a file":          {[]string{"run", dir + "/file"}, exitUsage, `/file": not a directory`},
		"empty argument":  {[]string{"run", ""}, exitUsage, "DIR is empty"},
		"empty directory": {[]string{"run", dir + "/empty"}, exitFailed, "no text file below " + dir + "/empty"},
		"unknown backend": {[]string{"run", "--backend", "threads", dir}, exitUsage, `unknown backend "threads"`},
		"empty backend": {
			[]string{"run", "--backend", "", dir}, exitUsage, `--backend "": choose one of asm, ucontext, goroutine`,
		},
		"no backend": {
			[]string{"run", dir, "--backend"}, exitUsage, "--backend has no value: choose one of asm",
		},
		"unknown policy": {
			[]string{"run", "--policy", "fair", dir}, exitUsage,
			`--policy: no such policy "fair": choose one of stealing`,
		},
		"empty policy": {[]string{"run", "--policy", "", dir}, exitUsage, `--policy "": choose one of stealing`},
		"empty and policy": {
			[]string{"run", "--policy", "stealing,", dir}, exitUsage, `--policy "": choose one of stealing`,
		},
		"no policy": {
			[]string{"run", dir, "--policy"}, exitUsage, "--policy has no value: choose one of stealing",
		},
		"mode, no group": {
			[]string{"run", "--mode", "affinity", dir}, exitUsage,
			"--mode is about policy group, which is not chosen: add --policy group, or leave it out",
		},
		"size, no group": {
			[]string{"run", "--policy", "stealing,roundrobin", "--group-size", "2", dir}, exitUsage,
			"--group-size is about policy group",
		},
		"spinners, no group": {[]string{"run", "--spinners", "1", dir}, exitUsage, "--spinners is about policy group"},
		"stats, no group":    {[]string{"run", "--stats", dir}, exitUsage, "--stats is about policy group"},
		"unknown mode": {
			[]string{"run", "--policy", "group", "--mode", "fair", dir}, exitUsage,
			"--mode fair: choose one of balance, affinity",
		},
		"empty mode": {
			[]string{"run", "--policy", "group", "--mode", "", dir}, exitUsage,
			`--mode "": choose one of balance, affinity`,
		},
		"no mode": {
			[]string{"run", dir, "--mode"}, exitUsage, "--mode has no value: choose one of balance, affinity",
		},
		"negative spinners": {
			[]string{"run", "--policy", "group", "--spinners", "-1", dir}, exitUsage,
			"--spinners -1: give a number from 0 to 64",
		},
		"too many spinners": {
			[]string{"run", "--policy", "group", "--spinners", "65", dir}, exitUsage,
			"--spinners 65: give a number from 0 to 64",
		},
		"spinners, a word": {
			[]string{"run", "--policy", "group", "--spinners", "two", dir}, exitUsage,
			"--spinners two: give a number from 0 to 64",
		},
		"no group size": {
			[]string{"run", "--policy", "group", "--group-size", "0", dir}, exitUsage,
			"--group-size 0: give a number from 1 to 64",
		},
		"large group": {
			[]string{"run", "--policy", "group", "--group-size", "65", dir}, exitUsage,
			"--group-size 65: give a number from 1 to 64",
		},
		"policy of bench": {
			[]string{"bench", "--policy", "stealing"}, exitUsage,
			"unknown flag: --policy: fiberlab bench --help lists the flags",
		},
		"workers, no number": {
			[]string{"run", "--workers", "abc", dir}, exitUsage, "--workers abc: give a number from 0 to 64",
		},
		"json, no flag": {[]string{"run", "--json=maybe", dir}, exitUsage, "--json maybe: it takes no value"},
		"empty trace": {
			[]string{"run", "--trace", "", dir}, exitUsage, `--trace "": name a file, or leave the flag out`,
		},
		"negative workers": {
			[]string{"run", "--workers", "-1", dir}, exitUsage, "--workers -1: give a number from 0",
		},
		"too many workers": {
			[]string{"run", "--workers", "99999", dir}, exitUsage, "--workers 99999: give a number from 0",
		},
		"unwritable trace": {
			[]string{"run", "--trace", dir + "/none/t.json", dir}, exitUsage,
			"--trace: open " + dir + "/none/t.asm.json: no such file",
		},
		"trace directory": {
			[]string{"run", "--trace", dir, dir}, exitUsage, "--trace: " + dir + " is a directory or a named pipe: name a file",
		},
		"trace pipe": {
			[]string{"run", "--trace", pipe, dir}, exitUsage, "--trace: " + pipe + " is a directory or a named pipe",
		},
		"no rounds": {[]string{"bench", "--rounds", "0"}, exitUsage, "--rounds 0"},
		"rounds, no number": {
			[]string{"bench", "--rounds", "many"}, exitUsage, "--rounds many: give a number from 1 up",
		},
		"quick and rounds": {
			[]string{"bench", "--quick", "--rounds", "9"}, exitUsage,
			"--quick and --rounds: both say how many samples to take: leave one out",
		},
		"time and rounds": {
			[]string{"bench", "--time", "9s", "--rounds", "9"}, exitUsage,
			"--time and --rounds: a given number of samples takes the time that it takes: leave one out",
		},
		"table and no table": {
			[]string{"run", "--no-table", "--quick"}, exitUsage,
			"--no-table and --quick: without the table there is nothing to sample: leave one out",
		},
		"unknown demo": {
			[]string{"demo", "livelock"}, exitUsage,
			`"livelock" is no command: fiberlab demo --help lists the commands`,
		},
		"mistyped demo": {[]string{"demo", "deadlok"}, exitUsage, `"deadlok" is no command: is deadlock meant?`},
		"no program": {
			[]string{"demo", "./none"}, exitUsage,
			"open ./none: no such file or directory: name a file with a little program",
		},
		"program, a folder": {
			[]string{"demo", dir}, exitUsage, dir + ": is a directory: name a file with a little program",
		},
		"no such statement": {
			[]string{"demo", dir + "/file"}, exitUsage,
			dir + `/file: demo: line 1, "text": a little program that cannot be run: the names`,
		},
		"two programs":      {[]string{"demo", dir, dir}, exitUsage, "give one FILE"},
		"no program's name": {[]string{"demo", ""}, exitUsage, "FILE is empty: name a file with a little program"},
		"unknown trap": {
			[]string{"demo", "lost-wakeup", "livelock"}, exitUsage,
			"lost-wakeup livelock: name one trap of signal-before-wait, if-for-while, ",
		},
		"two traps": {
			[]string{"demo", "lost-wakeup", "if-for-while", "lock-while-running"}, exitUsage, "name one trap of",
		},
		"deadlock of a tree": {
			[]string{"demo", "deadlock", dir}, exitUsage, "deadlock " + dir + ": it takes no arguments",
		},
		"no threads": {
			[]string{"demo", "deadlock", "--workers", "0"}, exitUsage, "--workers 0: give a number from 1 to 64",
		},
		"demo, no number": {
			[]string{"demo", "deadlock", "--workers", "few"}, exitUsage, "--workers few: give a number from 1 to 64",
		},
		"no parents": {
			[]string{"demo", "deadlock", "--parents", "0"}, exitUsage, "--parents 0: give a number from 1 to 64",
		},
		"too many parents": {
			[]string{"demo", "deadlock", "--parents", "65"}, exitUsage, "--parents 65: give a number from 1 to 64",
		},
		"unknown form": {
			[]string{"demo", "deadlock", "--form", "tree"}, exitUsage,
			`--form: forkjoin: no form "tree": choose one of heartbeat, deque, locked`,
		},
		"empty form": {
			[]string{"demo", "deadlock", "--form", ""}, exitUsage, `--form "": choose one of heartbeat, deque, locked`,
		},
		"backend of a demo": {
			[]string{"demo", "deadlock", "--backend", "threads"}, exitUsage, `unknown backend "threads"`,
		},
		"policy of a demo": {[]string{"demo", "lost-wakeup", "--policy", "fair"}, exitUsage, `no such policy "fair"`},
		"unknown server": {
			[]string{"serve", "gopher"}, exitUsage, `"gopher" is no command: fiberlab serve --help lists the commands`,
		},
		"mistyped server": {[]string{"serve", "ech"}, exitUsage, `"ech" is no command: is echo meant?`},
		"echo of a tree": {
			[]string{"serve", "echo", dir}, exitUsage,
			"echo " + dir + ": it takes no arguments: --addr says where it listens",
		},
		"files of two": {[]string{"serve", "files", dir, dir}, exitUsage, "2 directories: give one DIR, or none"},
		"files of none": {
			[]string{"serve", "files", "--driver", "go", "--addr", "127.0.0.1:0", dir + "/none"}, exitUsage,
			`/none": no such file or directory: name a directory`,
		},
		"files of a file": {
			[]string{"serve", "files", "--driver", "go", "--addr", "127.0.0.1:0", dir + "/file"}, exitUsage,
			`/file": not a directory: name a directory`,
		},
		"address, no port": {
			[]string{"serve", "echo", "--addr", "127.0.0.1"}, exitUsage,
			`cannot serve on "127.0.0.1": missing port in address: give HOST:PORT`,
		},
		"port, no number": {
			[]string{"serve", "echo", "--addr", "127.0.0.1:http!"}, exitUsage,
			`cannot serve on "127.0.0.1:http!": "http!" is no port: give HOST:PORT`,
		},
		"large port": {
			[]string{"serve", "echo", "--addr", ":65536"}, exitUsage, `"65536" is no port: give HOST:PORT`,
		},
		"address elsewhere": {
			[]string{"serve", "echo", "--driver", "go", "--addr", "203.0.113.1:0"}, exitUsage,
			"cannot assign requested address: name an address of this machine",
		},
		"empty address": {[]string{"serve", "echo", "--addr", ""}, exitUsage, `--addr "": give HOST:PORT`},
		"unknown driver": {
			[]string{"serve", "echo", "--driver", "kqueue"}, exitUsage,
			"--driver kqueue: choose one of auto, uring, epoll or go",
		},
		"unknown reader": {
			[]string{"run", "--io", "aio", dir}, exitUsage, "--io aio: choose one of auto, uring, epoll or go",
		},
		"driver, no workers": {
			[]string{"serve", "echo", "--driver", "go", "--workers", "2"}, exitUsage,
			"--workers is about fibers, and driver go has none",
		},
		"driver, no fibers": {
			[]string{"serve", "http", "--driver", "go", "--policy", "group"}, exitUsage,
			"--policy is about fibers, and driver go has none: choose another --driver, or leave it out",
		},
		"negative grace": {
			[]string{"serve", "echo", "--grace", "-1s"}, exitUsage, "--grace -1s: give a time from 0 up",
		},
		"grace, no time": {
			[]string{"serve", "echo", "--grace", "soon"}, exitUsage, "--grace soon: give a time from 0 up",
		},
		"server, no workers": {
			[]string{"serve", "echo", "--workers", "0"}, exitUsage, "--workers 0: give a number from 1 to 64",
		},
		"server's backend": {
			[]string{"serve", "echo", "--backend", "threads"}, exitUsage, `unknown backend "threads"`,
		},
		"swap of no folder": {[]string{"bench", "--swap", ""}, exitUsage, `--swap "": name the folder with the swap`},
		"swap, not there": {
			[]string{"bench", "--swap", dir + "/none"}, exitUsage,
			"the folder of the submission: open " + dir + "/none: no such file",
		},
		"swap of no files": {
			[]string{"bench", "--swap", dir + "/empty"}, exitUsage, dir + "/empty has no file for lab 0",
		},
		"bench of a tree":   {[]string{"bench", dir}, exitUsage, `unknown workload "` + dir + `": choose one of switch`},
		"comparison of one": {[]string{"bench", "compare", dir}, exitUsage, "bench compare: name two files"},
		"comparison, not there": {
			[]string{"bench", "compare", dir + "/none", dir + "/file"}, exitUsage,
			"no such file or directory: name a file that fiberlab bench --json has written",
		},
		"swap of a ring": {
			[]string{"bench", "ring", "--swap", dir}, exitUsage,
			"bench ring: --swap measures the switch alone: leave ring out",
		},
		"no time to measure": {[]string{"bench", "--time", "0"}, exitUsage, "--time 0s: give a time such as 10s"},
		"two forms": {
			[]string{"bench", "--json", "--csv"}, exitUsage, "--json and --csv: one form is printed: leave one out",
		},
		"two other forms": {
			[]string{"bench", "--csv", "--benchstat"}, exitUsage, "--csv and --benchstat: one form is printed",
		},
		"trace, the current folder": {
			[]string{"run", "--trace", ".", dir}, exitUsage, "--trace: . is a directory or a named pipe: name a file",
		},
	}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		if ctest.Emulated() && i%6 != 0 {
			continue
		}
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			got := run(t, c.args...)
			require.Equal(t, c.code, got.code, got.stderr)
			requireOneLine(t, got.stderr)
			require.Contains(t, got.stderr, c.text)
			require.Empty(t, got.stdout)
		})
	}
}

func TestVersion(t *testing.T) {
	for _, word := range []string{"version", "--version"} {
		got := run(t, word)
		require.Zero(t, got.code)
		require.Regexp(t, `^fiberlab \S+ go1\.\S+ linux/(amd64|arm64)\n$`, got.stdout, word)
	}
}

// A backend that does not exist is an error wherever it is named.
func TestAWrongEnvironment(t *testing.T) {
	for _, words := range [][]string{
		{"run", "--backend", "asm", smallTree(t)}, {"bench", "--quick"}, {"demo", "deadlock"},
		{"serve", "echo"},
	} {
		c := command(words...)
		c.Env = append(c.Env, fiber.EnvBackend+"=foo")
		var stdout, stderr bytes.Buffer
		c.Stdout, c.Stderr = &stdout, &stderr
		require.Error(t, c.Run())
		require.Equal(t, exitUsage, c.ProcessState.ExitCode(), stderr.String())
		requireOneLine(t, stderr.String())
		require.Contains(
			t, stderr.String(), `environment variable FIBERLAB_BACKEND: unknown backend "foo": choose one of asm`,
		)
		require.Empty(t, stdout.String())
	}
}

// What a shell offers behind these words: behind one of five of them in an emulator, as above.
func TestCompletions(t *testing.T) {
	for i, c := range []struct {
		words   []string
		offered []string
		left    string // what a shell may offer beside
	}{
		{
			[]string{"r"}, []string{"run\tCount words by tasks on fibers, then show what a switch costs"},
			"ShellCompDirectiveNoFileComp",
		},
		{[]string{"run", "--backend", ""}, []string{"asm", "ucontext", "goroutine"}, "ShellCompDirectiveNoFileComp"},
		{[]string{"run", "--policy", ""}, policyNames(), "ShellCompDirectiveNoFileComp"},
		{[]string{"run", "--mode", ""}, []string{"balance", "affinity"}, "ShellCompDirectiveNoFileComp"},
		{[]string{"run", "--spinners", ""}, nil, "ShellCompDirectiveNoFileComp"},
		{[]string{"run", "--group-size", ""}, nil, "ShellCompDirectiveNoFileComp"},
		{[]string{"run", ""}, nil, "ShellCompDirectiveFilterDirs"},
		{[]string{"run", "--trace", ""}, nil, "ShellCompDirectiveDefault"},
		{
			[]string{"bench", ""}, append(append([]string{"compare\tSay what differs between two reports of bench --json, " +
				"beyond noise"}, bench.WorkloadNames()...), "all"), "ShellCompDirectiveNoFileComp",
		},
		{[]string{"demo", "d"}, []string{"deadlock\tShow a thread pool whose tasks wait for one another until " +
			"nothing goes on"}, "ShellCompDirectiveNoFileComp"},
		{[]string{"demo", "deadlock", ""}, nil, "ShellCompDirectiveNoFileComp"},
		{
			[]string{"demo", "deadlock", "--form", ""}, []string{"heartbeat", "deque", "locked"},
			"ShellCompDirectiveNoFileComp",
		},
		{[]string{"demo", "deadlock", "--parents", ""}, nil, "ShellCompDirectiveNoFileComp"},
		{[]string{"serve", "f"}, []string{"files\tServe a folder's files over HTTP"}, "ShellCompDirectiveNoFileComp"},
		{[]string{"serve", "files", ""}, nil, "ShellCompDirectiveFilterDirs"},
		{[]string{"serve", "echo", ""}, nil, "ShellCompDirectiveNoFileComp"},
		{[]string{"serve", "echo", "--driver", ""}, []string{"auto", "uring", "epoll", "go"}, "ShellCompDirectiveNoFileComp"},
		{[]string{"serve", "http", "--addr", ""}, nil, "ShellCompDirectiveNoFileComp"},
		{
			[]string{"demo", "lost-wakeup", ""},
			[]string{"signal-before-wait", "if-for-while", "status-outside-lock", "lock-while-running"},
			"ShellCompDirectiveNoFileComp",
		},
	} {
		if ctest.Emulated() && i%5 != 0 {
			continue
		}
		got := run(t, append([]string{"__complete"}, c.words...)...)
		require.Zero(t, got.code, got.stderr)
		lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
		require.Equal(t, c.offered, append([]string(nil), lines[:len(lines)-1]...), "%q", c.words)
		require.Contains(t, got.stderr, c.left, "%q", c.words)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		got := run(t, "completion", shell)
		require.Zero(t, got.code, got.stderr)
		require.Contains(t, got.stdout, "fiberlab")
	}
}

// The exit codes of grade are its own: points that are lost are no failure of the command.
func TestGrade(t *testing.T) {
	needControl(t)
	lost := newLab(nil, nil).test(t, "grade", "1", "../../labs/01", "--seed", "1")
	require.Equal(t, 1, lost.code, lost.stderr)
	require.Empty(t, lost.stderr)
	require.Contains(t, lost.stdout, "0 of 100 points")
	wrong := newLab(nil, nil).test(t, "grade", "99")
	require.Equal(t, 2, wrong.code)
	require.Contains(t, wrong.stderr, "fiberlab: lab \"99\": there are 01")
}

// A driver that this kernel does not have is a mistake in the command line, whatever the command.
func TestExitCodeOfAMissingDriver(t *testing.T) {
	require.Equal(t, exitUsage, exitCode(failure{fmt.Errorf("sched/uring: %w: old", uring.ErrUnavailable)}))
	require.Equal(t, exitFailed, exitCode(failure{errors.New("another")}))
}
