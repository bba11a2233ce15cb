package wordcount_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"fiberlab/cmd/fiberlab/wordcount"
	"fiberlab/sched"
)

// Count the words below a directory by tasks on two workers.
func Example() {
	dir, err := os.MkdirTemp("", "words")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"a": "one two two\n", "b": "three\n", "picture": "\x89PNG\x00"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			fmt.Println(err)
			return
		}
	}

	tree, err := wordcount.Walk(context.Background(), dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := wordcount.Count(
		context.Background(), tree.Files, wordcount.Options{Scheduler: sched.Config{Workers: 2}},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(tree.Files), "text files,", tree.Other, "other")
	fmt.Println(result.Words(), "words,", result.Distinct(), "distinct, two:", result.Of("two"))
	// Output:
	// 2 text files, 1 other
	// 4 words, 3 distinct, two: 2
}

// A count on fibers agrees with one in a plain loop.
func ExampleTally_Difference() {
	ctx := context.Background()
	tree, err := wordcount.Walk(ctx, ".", nil) // this package's sources
	if err != nil {
		fmt.Println(err)
		return
	}
	plain, err := wordcount.CountSequentially(ctx, tree.Files, wordcount.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	onFibers, err := wordcount.Count(ctx, tree.Files, wordcount.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", onFibers.Difference(plain))
	// Output: ""
}
