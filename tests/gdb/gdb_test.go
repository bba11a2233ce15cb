// Package gdb_test drives gdb with scripts/fiberlab-gdb.py: on a program that runs, on core files, on programs for the
// other architecture in qemu-user, and on the swaps of the labs.
package gdb_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const script = "../../scripts/fiberlab-gdb.py"

// limit ends a gdb or a program that does not end by itself.
const limit = 5 * time.Minute

// arch is an architecture with the commands for its programs.
type arch struct {
	name, gdb, emulator, sysroot string
	cc                           []string
	lab                          string // whose swap is for it
}

var (
	amd64 = arch{name: "amd64", gdb: "gdb", cc: []string{"gcc"}, lab: "02"}
	arm64 = arch{
		name: "arm64", gdb: "gdb-multiarch", emulator: "qemu-aarch64", sysroot: "/usr/aarch64-linux-gnu",
		cc: []string{"aarch64-linux-gnu-gcc"}, lab: "03",
	}
)

// here is the architecture of this machine, there the one that is emulated. arm64 machines have no emulated one.
var here, there = func() (arch, arch) {
	if runtime.GOARCH == "amd64" {
		return amd64, arm64
	}
	native := arm64
	native.gdb, native.emulator, native.sysroot, native.cc = "gdb", "", "", []string{"gcc"}
	return native, arch{}
}()

// need skips the test unless these commands are there.
func need(t *testing.T, commands ...string) {
	t.Helper()
	for _, name := range commands {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s on PATH: scripts/need gdb foreign", name)
		}
	}
}

// tools skips the test unless the commands for programs of a are there.
func (a arch) tools(t *testing.T) {
	t.Helper()
	if a.name == "" {
		t.Skip("no other architecture is emulated on this machine")
	}
	need(t, append(a.cc[:1:1], a.gdb)...)
	if a.emulator != "" {
		need(t, a.emulator)
	}
}

// debug runs gdb on the given program with these commands, after the script was loaded. It returns what gdb printed.
func (a arch) debug(t *testing.T, program []string, commands ...string) string {
	t.Helper()
	args := []string{
		"-q", "-nx", "-batch", "-iex", "set auto-load no", "-iex", "set sysroot " + a.sysroot,
		"-iex", "set disable-randomization off", "-iex", "set startup-with-shell off", "-iex", "set width 0",
		"-iex", "set debuginfod enabled off", "-ex", "source " + script,
	}
	for _, command := range commands {
		args = append(args, "-ex", command)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, a.gdb, append(args, program...)...).CombinedOutput()
	text := string(out)
	require.NoError(t, err, text)
	if strings.Contains(text, "ptrace: Operation not permitted") {
		t.Skip("this machine lets no debugger attach")
	}
	require.NotContains(t, text, "Python Exception", text)
	return text
}

// subjects has the subject for each architecture, built once.
var subjects sync.Map

var folder string // for what the tests build

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "fiberlab-gdb-"); err != nil {
		panic(err)
	}
	var cores unix.Rlimit // which the subjects inherit
	if unix.Getrlimit(unix.RLIMIT_CORE, &cores) == nil {
		cores.Cur = cores.Max
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &cores)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// subject returns the path of the subject. It is a debug build, in which mutexes know who holds them.
func (a arch) subject(t *testing.T) string {
	t.Helper()
	path := filepath.Join(folder, "subject-"+a.name)
	build, _ := subjects.LoadOrStore(a.name, sync.OnceValue(func() error {
		cmd := exec.Command("go", "build", "-tags", "debug", "-o", path, "./subject")
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GOARCH="+a.name, "CGO_ENABLED=1", "CC="+strings.Join(a.cc, " "))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}))
	require.NoError(t, build.(func() error)())
	return path
}

// process is a subject that runs.
type process struct {
	*exec.Cmd
	out bytes.Buffer
}

// start runs the subject in the folder dir until it is ready. end has it end, and returns how it has.
func start(t *testing.T, dir string, program ...string) (p *process, end func() error) {
	t.Helper()
	p = &process{Cmd: exec.Command(program[0], program[1:]...)}
	p.Env = append(os.Environ(), "G_SLICE=always-malloc") // else the emulator hangs now and then
	p.Dir = dir
	input, err := p.StdinPipe()
	require.NoError(t, err)
	output, err := p.StdoutPipe()
	require.NoError(t, err)
	p.Stderr = os.Stderr
	require.NoError(t, p.Start())
	over := time.AfterFunc(limit, func() { _ = p.Process.Kill() })
	line := make([]byte, len("ready\n"))
	_, err = io.ReadFull(output, line)
	require.NoError(t, err)
	require.Equal(t, "ready\n", string(line))
	return p, sync.OnceValue(func() error {
		defer over.Stop()
		_ = input.Close()
		_, _ = p.out.ReadFrom(output)
		return p.Wait()
	})
}

// inOrder requires that the text has these parts, one after the other.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		require.True(t, found, "%q, in this order, in:\n%s", part, text)
		rest = after
	}
}

// clerk is the stack of the fiber that waits for the named mutex: Go, C, and Go again.
var clerk = []string{
	"fibersync.(*Mutex).Lock", "main.withdraw at subject/main.go:", "runtime.cgocallback", "wait_in_c at subject/body.c:",
	"main.clerk at subject/main.go:", "fiberlab/sched.(*Fiber).run", "fiber_main at fiber/switch.c:",
}

// look examines the subject with count readers: program is what gdb is given for it.
func look(t *testing.T, a arch, program []string, count string) {
	t.Helper()
	const section = "echo ---\\n"
	parts := strings.Split(a.debug(t, program,
		"set language c", "set $before = $pc", "info fibers",
		section, "fiber waits",
		section, "fiber waits main.accounts",
		section, "fiber clerk bt",
		section, "fiber in C", "bt", "frame function fiber_main", "down", "info locals",
		section, "fiber apply all bt", "fiber",
		section, "fiber thread", "fiber", "p $pc == $before",
	), "---\n")
	require.Len(t, parts, 7)

	fibers := parts[0]
	require.Regexp(t, `(?m)^`+count+` +Yielded +\d.* reader +\d.* main\.reader at subject/main\.go:\d+, by `+
		`fibersync\.\(\*Event\)\.Wait$`, fibers)
	require.Regexp(t, `(?m)^1 +Suspended +in C +\d+ +descend at subject/body\.c:\d+$`, fibers)

	require.Regexp(t, `Mutex main\.accounts at 0x\w+, held by fiber \d+ \(teller\): fiber \d+ \(clerk\) waits\n`, parts[1])
	require.Regexp(t, `fibersync\.\(\*Event\)\.Wait: `+count+` fibers wait: .* \(reader\), in main\.reader at`, parts[1])
	cycle := `cycle: fiber (\d+) \(%s\) waits for Mutex main\.%s at \w+, held by fiber \d+ \(%s\), ` +
		`which waits for Mutex main\.%s at \w+, held by fiber (\d+) \(%[1]s\)\n`
	found := regexp.MustCompile(fmt.Sprintf(cycle, "buyer", "goods", "seller", "orders") + "|" +
		fmt.Sprintf(cycle, "seller", "orders", "buyer", "goods")).FindStringSubmatch(parts[1])
	require.NotNil(t, found, parts[1])
	require.Equal(t, found[1]+found[3], found[2]+found[4], "the cycle ends where it began")

	inOrder(t, parts[2], append([]string{"Mutex main.accounts at 0x", "(clerk), Yielded\n"}, clerk...)...)
	inOrder(t, parts[2], "(teller), Yielded\n", "main.teller at subject/main.go:")
	require.NotContains(t, parts[2], "orders")
	inOrder(t, parts[3], clerk...)

	body, _, _ := strings.Cut(parts[4], "fiber_main")
	require.Equal(t, 4, strings.Count(body, "in descend ("), body)
	require.Contains(t, parts[4], "here = 3\n")
	require.Regexp(t, `(?m)^[\d,]+ fibers: .*, Yielded, task reader$`, parts[5])
	require.Contains(t, parts[5], "a fiber or a context is selected\n")
	require.Contains(t, parts[6], "no fiber is selected\n$1 = 1\n", "the registers are what they were")
}

// The program goes on when gdb has left it.
func TestRunningProgram(t *testing.T) {
	here.tools(t)
	for _, backend := range []string{"asm", "ucontext"} {
		t.Run(backend, func(t *testing.T) {
			p, end := start(t, "", here.subject(t), "-backend", backend, "-count", "1000")
			defer func() { _ = end() }()
			look(t, here, []string{"-p", fmt.Sprint(p.Process.Pid)}, "1,000")
			require.NoError(t, end())
			require.Equal(t, "alive\n", p.out.String())
		})
	}
}

func TestCoreFile(t *testing.T) {
	here.tools(t)
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	require.NoError(t, err)
	if !regexp.MustCompile(`^core\b[^/]*\n$`).Match(pattern) {
		t.Skipf("core files go elsewhere: /proc/sys/kernel/core_pattern is %q", pattern)
	}
	subject := here.subject(t)
	for _, backend := range []string{"asm", "ucontext"} {
		t.Run(backend, func(t *testing.T) {
			program := []string{subject, "-backend", backend, "-count", "1000", "-abort"}
			look(t, here, []string{subject, abort(t, "core*", program)}, "1,000")
		})
	}
}

// abort runs a program that aborts, and returns the path of the core file, whose name has that pattern.
func abort(t *testing.T, pattern string, program []string) string {
	t.Helper()
	dir := t.TempDir()
	_, end := start(t, dir, program...)
	require.ErrorContains(t, end(), "signal: aborted")
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("no core file was written: `ulimit -H -c` may be 0")
	}
	return files[0]
}

// The emulator writes the core files of its programs itself.
func TestOtherArchitecture(t *testing.T) {
	there.tools(t)
	if testing.Short() {
		t.Skip("in full sizes only: the standard library is compiled for another architecture")
	}
	subject := there.subject(t)
	for _, backend := range []string{"asm", "ucontext"} {
		t.Run(backend, func(t *testing.T) {
			program := []string{there.emulator, "-L", there.sysroot, subject, "-backend", backend, "-count", "100", "-abort"}
			look(t, there, []string{subject, abort(t, "qemu_*.core", program)}, "100")
		})
	}
}

// The contexts of the labs are structs of their own.
func TestLabs(t *testing.T) {
	for _, a := range []arch{here, there} {
		t.Run(a.name, func(t *testing.T) {
			a.tools(t)
			program := filepath.Join(folder, "lab-"+a.lab)
			lab := filepath.Join("../../labs", a.lab)
			args := append(a.cc[1:], "-g", "-O1", "-o", program, "-I", lab, "testdata/lab.c",
				filepath.Join(lab, "context.c"), filepath.Join(lab, "reference", "swap.S"),
				filepath.Join(lab, "trampoline.S"))
			out, err := exec.Command(a.cc[0], args...).CombinedOutput()
			require.NoError(t, err, string(out))
			begin := []string{"break stop", "run"}
			if a.emulator != "" {
				begin = a.emulate(t, program)
			}
			text := a.debug(t, []string{program}, append(begin, "fiber context fiber", "bt", "frame function body", "down",
				"info locals", "echo ---\\n", "fiber context &caller", "bt", "continue")...)
			fiber, caller, _ := strings.Cut(text, "---\n")
			inOrder(t, fiber, "in descend (depth", "in descend (depth", "in descend (depth", "in descend (depth", "in body (",
				"in marl_fiber_trampoline (", "here = 3\n")
			require.Regexp(t, `#\d .* in main \(\)`, caller)
			require.Contains(t, caller, "exited normally")
		})
	}
}

// What is missing is said, with the remedy.
func TestErrors(t *testing.T) {
	here.tools(t)
	p, end := start(t, "", here.subject(t), "-count", "1")
	defer func() { _ = end() }()
	program := []string{"-p", fmt.Sprint(p.Process.Pid)}
	inOrder(t, here.debug(t, program,
		failing("fiber 999999"), failing("fiber context 'main.never'"),
		"fiber waits main.nothing"),
		"there is no fiber 999999: info fibers lists them\n",
		"is no context: it has no fields ",
		"no fiber waits for main.nothing\n")
	inOrder(t, here.debug(t, []string{"/bin/true"}, failing("info fibers")),
		"no program runs here: run one, attach to one, or load a core file\n")
}

// failing is a command whose error does not end gdb.
func failing(command string) string {
	return fmt.Sprintf("python\ntry: gdb.execute(%q)\nexcept gdb.error as e: print(e)", command)
}

// A list of many fibers is for a person who waits.
func TestManyFibers(t *testing.T) {
	if testing.Short() {
		t.Skip("in full sizes only: 20,000 fibers")
	}
	here.tools(t)
	p, end := start(t, "", here.subject(t), "-count", "20000")
	defer func() { _ = end() }()
	text := here.debug(t, []string{"-p", fmt.Sprint(p.Process.Pid)},
		"python import time; begin, used = time.time(), time.process_time()", "info fibers",
		"python print('listed in %.2f s, %.2f s of a processor' % (time.time() - begin, time.process_time() - used))")
	require.Regexp(t, `(?m)^20,000 +Yielded .* reader `, text)
	t.Log(regexp.MustCompile("listed in .*").FindString(text))
}

// emulate starts a program in the emulator, and returns what gdb has to do to stand in its function stop.
func (a arch) emulate(t *testing.T, program string) []string {
	t.Helper()
	socket := filepath.Join(folder, "stub")
	cmd := exec.Command(a.emulator, "-L", a.sysroot, "-g", socket, program)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	const listens = " 00010000 "
	require.Eventually(t, func() bool {
		sockets, err := os.ReadFile("/proc/net/unix")
		require.NoError(t, err)
		for line := range strings.Lines(string(sockets)) {
			if strings.HasSuffix(line, socket+"\n") && strings.Contains(line, listens) {
				return true
			}
		}
		return false
	}, limit, time.Millisecond)
	return []string{"target remote " + socket, "break stop", "continue"}
}
