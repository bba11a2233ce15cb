package stack_test

import (
	"errors"
	"fmt"

	"fiberlab/stack"
)

// A pool hands out stacks and takes them back.
func Example() {
	pool, err := stack.NewPool(stack.Options{Size: 64 << 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	st, err := pool.Get()
	if err != nil {
		fmt.Println(err)
		return
	}
	lo, hi := st.Guard()
	fmt.Println("bytes:", st.Size(), "the guard ends at Lo:", lo < hi && hi == st.Lo())
	fmt.Println("in use:", pool.Stats().InUse)
	fmt.Println("closing:", errors.Is(pool.Close(), stack.ErrInUse))
	fmt.Println("putting back:", pool.Put(st))
	fmt.Println("closing:", pool.Close())
	// Output:
	// bytes: 65536 the guard ends at Lo: true
	// in use: 1
	// closing: true
	// putting back: <nil>
	// closing: <nil>
}

// Sizes are rounded up to whole pages; impossible ones are refused with the remedy.
func ExampleOptions_Usable() {
	size, err := stack.Options{}.Usable()
	fmt.Println(size == stack.DefaultSize, err)
	_, err = stack.Options{Size: -1}.Usable()
	fmt.Println(err)
	// Output:
	// true <nil>
	// stack: impossible stack size: -1 bytes is negative: ask for 0 (the default, 65536) up to 1073741824
}

// A stack that has not been used has no high-water mark; Trim gives idle stacks back.
func ExamplePool_Trim() {
	pool, err := stack.NewPool(stack.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	st, err := pool.Get()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("used:", st.HighWater())
	_ = pool.Put(st)
	fmt.Println("idle:", pool.Stats().Idle)
	pool.Trim()
	fmt.Println("idle:", pool.Stats().Idle, "mapped:", pool.Stats().MappedBytes)
	// Output:
	// used: 0
	// idle: 1
	// idle: 0 mapped: 0
}
