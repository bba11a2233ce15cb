package ctask_test

import (
	"fmt"
	"io/fs"

	"fiberlab/sched/ctask"
)

// A Go program with C that includes fiberlab_task.h imports this package. Its build may take the
// header from here.
func Example() {
	names, err := fs.Glob(ctask.Headers, "*.h")
	fmt.Println(names, err)
	// Output: [fiberlab_task.h] <nil>
}
