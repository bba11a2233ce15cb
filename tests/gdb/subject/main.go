// Command subject blocks fibers, prints "ready", and stays so. The tests of scripts/fiberlab-gdb.py look into it.
package main

/*
void wait_in_c(void *mutex);
void body(void *);
void die(int number);
*/
import "C"

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

var (
	accounts fibersync.Mutex // the teller holds it, the clerk waits for it
	orders   fibersync.Mutex // with goods: two fibers wait for one another
	goods    fibersync.Mutex
	never    fibersync.Event     // all others wait for it
	locked   fibersync.WaitGroup // both of them hold one
	blocked  fibersync.WaitGroup // each task has one more place to wait: the last
)

func main() {
	backend := flag.String("backend", "asm", "what switches the fibers: asm or ucontext")
	count := flag.Int("count", 1000, "how many fibers wait for the event")
	abort := flag.Bool("abort", false, "abort: the kernel may write a core file")
	flag.Parse()
	// A debugger that is no ancestor may attach, where the Yama module would forbid it.
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
	b, err := fiber.ParseBackend(*backend)
	check(err)
	s, err := sched.New(sched.Config{Workers: 2, Backend: b, Name: "subject", Watchdog: time.Hour})
	check(err)
	run := func(name string, f func()) {
		blocked.Add(1)
		check(s.Enqueue(sched.Task{Name: name, Func: f}))
	}
	for range *count {
		run("reader", reader)
	}
	locked.Add(2)
	run("teller", teller)
	run("buyer", func() { lockBoth(&orders, &goods) })
	run("seller", func() { lockBoth(&goods, &orders) })
	blocked.Wait()
	blocked.Add(1)
	check(s.Enqueue(sched.Task{Name: "clerk", Func: clerk}))
	suspendInC(b)
	for s.Stats().Blocked < *count+4 {
		time.Sleep(time.Millisecond)
	}
	ready()
	if *abort {
		C.die(C.int(unix.SIGABRT))
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println("alive")
}

// ready is where a debugger may stop the program. All fibers are blocked.
//
//go:noinline
func ready() { fmt.Println("ready") }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func reader() {
	blocked.Done()
	never.Wait()
}

func teller() {
	accounts.Lock()
	blocked.Done()
	never.Wait()
}

func clerk() { C.wait_in_c(unsafe.Pointer(&accounts)) }

//export withdraw
func withdraw(mutex unsafe.Pointer) {
	blocked.Done()
	(*fibersync.Mutex)(mutex).Lock()
}

func lockBoth(first, second *fibersync.Mutex) {
	first.Lock()
	locked.Done()
	locked.Wait()
	blocked.Done()
	second.Lock()
}

// suspendInC leaves a C body suspended in its own call of a switch.
func suspendInC(b fiber.Backend) {
	runtime.LockOSThread()
	root, err := fiber.Attach(b)
	check(err)
	f, err := fiber.NewC(fiber.Config{Name: "in C", Backend: b}, C.body, unsafe.Pointer(root.Handle()))
	check(err)
	check(root.SwitchTo(f))
	check(root.Detach())
}
