package bench

/*
#ifdef __clang__
static const char *compiler(void) { return "clang " __clang_version__; }
#else
static const char *compiler(void) { return "gcc " __VERSION__; }
#endif
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fiberlab/asm/ctest"
)

// cFlags are the flags of the cgo line in pingpong.go.
const cFlags = "-O2"

// Machine is what figures depend on. A field that this system does not show is empty.
type Machine struct {
	CPU       string  `json:"cpu"`
	CPUs      int     `json:"cpus"`
	Arch      string  `json:"arch"`
	Kernel    string  `json:"kernel"`
	Compiler  string  `json:"compiler"` // of C
	Go        string  `json:"go"`
	Flags     string  `json:"flags"`    // of C, of the benchmark loops
	Governor  string  `json:"governor"` // of the clock of processor 0
	SMT       string  `json:"smt"`      // "on", "off", "notsupported"
	Virtual   string  `json:"virtual"`  // "yes", "no"; empty: not known
	Emulated  bool    `json:"emulated"` // by qemu-user: times mean nothing
	Caches    []Cache `json:"caches,omitempty"`
	PageBytes int     `json:"page_bytes"`
	Load      string  `json:"load"` // of the system in the last minute, before the run
}

// Cache is a cache of processor 0 that holds data.
type Cache struct {
	Level int `json:"level"`
	Bytes int `json:"bytes"`
	Line  int `json:"line_bytes"`
}

// ThisMachine asks the kernel, /proc, /sys and the build.
func ThisMachine() Machine {
	m := Machine{
		CPUs: runtime.NumCPU(), Arch: runtime.GOARCH, Go: runtime.Version(),
		Compiler: C.GoString(C.compiler()), Flags: cFlags,
		Governor: firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		SMT:      firstLine("/sys/devices/system/cpu/smt/control"), PageBytes: os.Getpagesize(), Caches: caches(),
		Emulated: ctest.Emulated(),
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	facts := cpuFacts()
	m.CPU = facts["model name"]
	if m.CPU == "" && facts["CPU part"] != "" {
		m.CPU = "implementer " + facts["CPU implementer"] + ", part " + facts["CPU part"]
	}
	m.Virtual = virtual(facts)
	m.Load, _, _ = strings.Cut(firstLine("/proc/loadavg"), " ")
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "CGO_CFLAGS" && s.Value != "" {
				m.Flags += " " + s.Value
			}
		}
	}
	return m
}

// Facts names what figures depend on, and its values. A value that this system does not show is empty.
func (m *Machine) Facts() [][2]string {
	var caches []string
	for _, c := range m.Caches {
		caches = append(caches, fmt.Sprintf("L%d %s KB in lines of %d bytes", c.Level, Whole(float64(c.Bytes>>10)), c.Line))
	}
	return [][2]string{
		{"processor", m.CPU}, {"processors", strconv.Itoa(m.CPUs)}, {"architecture", m.Arch}, {"kernel", m.Kernel},
		{"C compiler", m.Compiler}, {"C flags", m.Flags}, {"Go", m.Go}, {"governor", m.Governor}, {"SMT", m.SMT},
		{"virtual", m.Virtual}, {"caches", strings.Join(caches, ", ")}, {"page", strconv.Itoa(m.PageBytes) + " bytes"},
		{"load before", m.Load},
	}
}

// cpuFacts returns the lines of /proc/cpuinfo about the first processor.
func cpuFacts() map[string]string {
	facts := map[string]string{}
	text, _ := os.ReadFile("/proc/cpuinfo")
	first, _, _ := strings.Cut(string(text), "\n\n")
	for line := range strings.Lines(first) {
		key, value, _ := strings.Cut(line, ":")
		facts[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return facts
}

// virtual reports whether a hypervisor runs this system. Processors of arm64 do not say.
func virtual(facts map[string]string) string {
	switch flags := strings.Fields(facts["flags"]); {
	case slices.Contains(flags, "hypervisor"):
		return "yes"
	case flags != nil:
		return "no"
	}
	return ""
}

func caches() (list []Cache) {
	places, _ := filepath.Glob("/sys/devices/system/cpu/cpu0/cache/index*")
	for _, place := range places {
		if kind := firstLine(place + "/type"); kind != "Data" && kind != "Unified" {
			continue
		}
		level, _ := strconv.Atoi(firstLine(place + "/level"))
		line, _ := strconv.Atoi(firstLine(place + "/coherency_line_size"))
		kilobytes, err := strconv.Atoi(strings.TrimSuffix(firstLine(place+"/size"), "K"))
		if err == nil {
			list = append(list, Cache{level, kilobytes << 10, line})
		}
	}
	return list
}

// firstLine returns the first line of a file, empty if it cannot be read.
func firstLine(path string) string {
	text, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}
