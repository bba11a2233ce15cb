package hostile

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed wrong
var wrong embed.FS

// Wrong is a submission without malice: it works in a program of one thread, with few fibers and no signals, and is
// wrong all the same.
type Wrong struct {
	Lab, Name string
	Base      string // the folder below that of the lab whose files it changes
	Most      int    // how many points it may get
	Says      string // what its report says, as a regular expression
}

// Write copies the files of the submission's base from labs, the folder of the labs, to the folder dir. Over them it
// writes the submission's own files.
func (w Wrong) Write(dir, labs string) error {
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(labs, w.Lab, w.Base))); err != nil {
		return err
	}
	own, err := fs.Sub(wrong, "wrong/"+w.Lab+"/"+w.Name)
	if err != nil {
		return err
	}
	names, err := fs.ReadDir(own, ".")
	if err != nil {
		return err
	}
	for _, n := range names {
		text, err := fs.ReadFile(own, n.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, strings.TrimSuffix(n.Name(), ".in")), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// WrongSet returns all submissions that are wrong without malice.
func WrongSet() []Wrong {
	return []Wrong{
		{
			"01", "sum", "solutions/files", 85,
			`lab_sum_over is called again by its stranger \(recursion\), and the second call overwrites the static ` +
				`variable sum \(convention_sum\.c:10\)`,
		},
		{
			"01", "sum-values", "solutions/files", 85,
			`the second call overwrites the static variable \w+ \(convention_sum\.c:\d+\)`,
		},
		{
			"01", "keep", "solutions/files", 90,
			`lab_keep_16 is called again by its stranger \(recursion\), and the second call overwrites the static ` +
				`variable kept`,
		},
		{
			"01", "observe", "solutions/files", 90,
			`lab_observe is called again by its stranger \(recursion\), and the second call overwrites the static ` +
				`variable kept \(convention_observe_\w+\.S:\d+\)`,
		},
		{
			"01", "below", "solutions/files", 90,
			`lab_keep_16 loads what it has kept \d+ bytes below the stack pointer \(convention_rest\.c:\d+\)`,
		},
		{"01", "control", "solutions/files", 90, `lab_keep_16 returns with (mxcsr|fpcr) changed`},
		{
			"01", "backward", "solutions/files", 90,
			`lab_sum_over makes call 1 of the stranger with the direction flag set ` +
				`\(convention_sum\.c:\d+\)|lab_sum_over returns with fpcr changed`,
		},

		{
			"02", "static-scratch", "reference", 88,
			`stores to the static variable scratch \(swap\.S:25\): two threads that swap at the same time`,
		},
		{"02", "static-table", "reference", 88, `stores to the static variable table \(swap\.S:\d+\): two threads`},
		{"02", "one-global", "reference", 88, `stores to the static variable current \(swap\.S:8\): two threads`},
		{
			"02", "thread-variable", "reference", 88,
			`stores to a thread-local variable \(swap\.S:25\): a signal handler`,
		},
		{
			"02", "thread-variable-pop", "reference", 88,
			`stores to a thread-local variable \(swap\.S:26\): a signal handler`,
		},
		{
			"02", "argument", "reference", 92,
			`gets a wrong argument in rdi, that of fiber [A-D]: keep each fiber's argument in its context or on its ` +
				`stack`,
		},
		{
			"02", "neighbour", "reference", 88,
			`marl_fiber_set_target writes past the end of the context, at offset 64: it has 64 bytes`,
		},
		{
			"02", "rounded-up", "reference", 88,
			`the body is entered with rsp outside of its stack: \S+ is so high that it reaches 7 bytes past the end: ` +
				`the stack has 4089 bytes`,
		},
		{
			"02", "below", "reference", 88,
			`loads what it has kept 256 bytes below the stack pointer \(swap\.S:16\): a signal handler overwrites ` +
				`what lies more than 128`,
		},
		{
			"02", "scratch-below", "reference", 88,
			`loads what it has kept 512 bytes below the stack pointer \(swap\.S:28\)`,
		},
		{
			"02", "push-to-context", "reference", 90,
			`rsp points into neither stack for a while \(swap\.S:10\), but past the end of the context that is left`,
		},
		{"02", "direction-flag", "reference", 88, `the direction flag is set \(swap\.S:25\)`},
		{"02", "mxcsr", "reference", 88, `mxcsr gets control bits that neither fiber had: 0x1f80 \(swap\.S:25\)`},
		{"02", "x87", "reference", 88, `x87cw gets control bits that neither fiber had: \S+ \(swap\.S:25\)`},

		{
			"03", "static-scratch", "reference", 88,
			`stores to the static variable scratch \(swap\.S:31\): two threads that swap at the same time`,
		},
		{"03", "static-table", "reference", 88, `stores to the static variable table \(swap\.S:\d+\): two threads`},
		{"03", "one-global", "reference", 88, `stores to the static variable current \(swap\.S:10\): two threads`},
		{"03", "thread-variable", "reference", 88, `stores to memory that is neither context nor stack \(swap\.S:32\)`},
		{
			"03", "argument", "reference", 92,
			`gets a wrong argument in x0, that of fiber [A-D]: keep each fiber's argument in its context or on its ` +
				`stack`,
		},
		{
			"03", "neighbour", "reference", 88,
			`marl_fiber_set_target writes past the end of the context, at offset 168: it has 168 bytes`,
		},
		{
			"03", "rounded-up", "reference", 88,
			`the body is entered with sp outside of its stack: \S+ is so high that it reaches 7 bytes past the end: ` +
				`the stack has 4089 bytes`,
		},
		{
			"03", "below", "reference", 88,
			`loads what it has kept 16 bytes below the stack pointer \(swap\.S:20\): a signal handler overwrites all ` +
				`that lies below it`,
		},
		{
			"03", "scratch-below", "reference", 88,
			`loads what it has kept 64 bytes below the stack pointer \(swap\.S:34\)`,
		},
		{
			"03", "store-to-context", "reference", 90,
			`sp points into neither stack for a while \(swap\.S:10\), but into the context that is left`,
		},
		{"03", "fpcr", "reference", 88, `fpcr gets control bits that neither fiber had: 0x0 \(swap\.S:30\)`},

		{
			"04", "standard-output", "reference", 77,
			`on_overflow writes the fiber's name to standard output \(1\): it must write to standard error`,
		},
		{
			"04", "allocating-handler", "reference", 87,
			`on_overflow calls malloc: the signal may have interrupted malloc itself`,
		},
		{
			"04", "four-fibers", "reference", 87,
			`after a store to the first byte of its guard page the process was ended by SIGSEGV, as if it were no ` +
				`overflow`,
		},
		{
			"04", "fixed-address", "reference", 90,
			`stack_map asks for the address 0x200000000000 \(MAP_FIXED\): a mapping of others that lies there is lost`,
		},
		{
			"04", "static-table", "reference", 85,
			`marl_fiber_set_target stores to the static variable \w+: all fibers and all threads have one`,
		},
		{
			"04", "static-pool", "reference", 45,
			`stack_map\(&s, 1\) returns 0 and has mapped no memory: each stack comes from mmap`,
		},

		{"05", "own-layout", "reference", 92, `setcontext.* at offset (224|464) of the context that was left`},
		{
			"05", "lost-link", "reference", 88,
			`uc_link is lost: (rbx|x19) is \S+ when the function of a fresh context is entered: makecontext has left ` +
				`\S+ for it`,
		},
		{
			"05", "fresh-alone", "reference", 96,
			`(r12|x21) comes back changed when lab_swapcontext resumes what getcontext has saved`,
		},
		{"05", "masks", "reference", 86, `(mxcsr|fpcr) comes back changed: its control bits were`},
		{
			"05", "no-environment", "reference", 92,
			`the floating-point state (by fpregs|if its head), at offset (224|464) of the context that was left,`,
		},
	}
}
