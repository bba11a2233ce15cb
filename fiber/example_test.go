package fiber_test

import (
	"errors"
	"fmt"
	"runtime"

	"fiberlab/fiber"
)

// A fiber and its root take turns.
func Example() {
	root, err := fiber.Attach(fiber.Default)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Detach()

	f, err := fiber.New(fiber.Config{Name: "worker"}, func() {
		for i := range 3 {
			fmt.Println("fiber:", i)
			if err := fiber.Current().SwitchTo(root); err != nil {
				fmt.Println(err)
			}
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for f.State() != fiber.Finished {
		fmt.Println("root: the fiber is", f.State())
		if err := root.SwitchTo(f); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("closed:", f.Close() == nil)
	// Output:
	// root: the fiber is Ready
	// fiber: 0
	// root: the fiber is Suspended
	// fiber: 1
	// root: the fiber is Suspended
	// fiber: 2
	// root: the fiber is Suspended
	// closed: true
}

// A fiber with a small C stack that is cleared when the fiber is closed.
func ExampleConfig() {
	f, err := fiber.New(fiber.Config{
		Name: "small", Backend: fiber.Ucontext, StackSize: fiber.MinGoStack, ClearStack: true,
	}, func() {})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Name(), f.Backend(), f.State(), f.Stack().Size() >= fiber.MinGoStack)
	fmt.Println(f.Close())
	// Output:
	// small ucontext Ready true
	// <nil>
}

// Fibers switch to one another without their root.
func ExampleFiber_SwitchTo() {
	root, err := fiber.Attach(fiber.Default)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Detach()

	var ping, pong *fiber.Fiber
	ping, _ = fiber.New(fiber.Config{Name: "ping"}, func() {
		for range 2 {
			fmt.Println("ping")
			_ = ping.SwitchTo(pong)
		}
	})
	pong, _ = fiber.New(fiber.Config{Name: "pong"}, func() {
		for range 2 {
			fmt.Println("pong")
			_ = pong.SwitchTo(ping)
		}
	})
	_ = root.SwitchTo(ping) // comes back when the body of ping has returned
	_ = root.SwitchTo(pong) // likewise
	fmt.Println(ping.State(), pong.State())
	fmt.Println(fiber.CloseAll(ping, pong))
	// Output:
	// ping
	// pong
	// ping
	// pong
	// Finished Finished
	// <nil>
}

// A fiber begins on one thread and goes on at another.
func ExampleAttach() {
	var f *fiber.Fiber
	here := make(chan *fiber.Fiber, 1) // the root that f is to leave for
	f, _ = fiber.New(fiber.Config{}, func() {
		fmt.Println("first half")
		_ = f.SwitchTo(<-here)
		fmt.Println("second half")
	})
	onRoot := func(do func(root *fiber.Fiber)) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			root, err := fiber.Attach(fiber.Default)
			if err != nil {
				fmt.Println(err)
				return
			}
			defer root.Detach()
			do(root)
		}()
		<-done
	}
	onRoot(func(root *fiber.Fiber) { here <- root; fmt.Println("one root:", root.SwitchTo(f)) })
	onRoot(func(root *fiber.Fiber) { fmt.Println("another root:", root.SwitchTo(f)) })
	fmt.Println(f.Close())
	// Output:
	// first half
	// one root: <nil>
	// second half
	// another root: <nil>
	// <nil>
}

// Errors name the operation and the fiber, and wrap a value for errors.Is.
func ExampleError() {
	root, err := fiber.Attach(fiber.Default)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Detach()
	f, _ := fiber.New(fiber.Config{Name: "half way"}, func() { _ = fiber.Current().SwitchTo(root) })
	_ = root.SwitchTo(f)
	err = f.Close()
	fmt.Println(err)
	fmt.Println(errors.Is(err, fiber.ErrSuspended))
	_ = root.SwitchTo(f)
	fmt.Println(f.Close())
	// Output:
	// fiber: close "half way": it is suspended in mid-function: switch to it until its body returns
	// true
	// <nil>
}

// A value of the caller's travels with the fiber.
func ExampleFiber_Value() {
	root, err := fiber.Attach(fiber.Default)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Detach()
	f, _ := fiber.New(fiber.Config{}, func() { fmt.Println("answers request", fiber.Current().Value()) })
	f.SetValue(42)
	_ = root.SwitchTo(f)
	fmt.Println(f.Close())
	// Output:
	// answers request 42
	// <nil>
}

// Prewarm pays for the identities of fibers in advance, and Drain gives idle ones back.
func ExamplePrewarm() {
	_ = fiber.Drain()
	before := fiber.ReadStats()
	if err := fiber.Prewarm(fiber.Config{}, 10); err != nil {
		fmt.Println(err)
	}
	fmt.Println("idle:", fiber.ReadStats().Idle-before.Idle)
	fmt.Println("drained:", fiber.Drain(), fiber.ReadStats().Idle-before.Idle)
	// Output:
	// idle: 10
	// drained: <nil> 0
}

// On the Goroutine backend, roots that exchange fibers are not locked to their threads.
func ExampleFiber_Detach() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	locked, err := fiber.Attach(fiber.Goroutine)
	if err != nil {
		fmt.Println(err)
		return
	}
	f, _ := fiber.New(
		fiber.Config{Name: "pinned", Backend: fiber.Goroutine}, func() { _ = fiber.Current().SwitchTo(locked) },
	)
	_ = locked.SwitchTo(f)
	fmt.Println("holds a fiber that only it can resume:", errors.Is(locked.Detach(), fiber.ErrHolds))
	_ = locked.SwitchTo(f)
	fmt.Println(f.Close(), locked.Detach())
	// Output:
	// holds a fiber that only it can resume: true
	// <nil> <nil>
}

// ParseBackend reads the name of a backend, as of a flag.
func ExampleParseBackend() {
	for _, name := range []string{"ucontext", "", "threads"} {
		b, err := fiber.ParseBackend(name)
		fmt.Println(b, errors.Is(err, fiber.ErrBackend))
	}
	// Output:
	// ucontext false
	// default false
	// default true
}
