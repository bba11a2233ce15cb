// Package fiber runs functions of C and Go on separate stacks and hands the
// processor from one to another.
//
// A [Fiber] is a stack, a context (the registers that a switch must keep) and,
// when its body is a Go function, an identity in the Go runtime. A goroutine
// becomes its thread's root fiber with [Attach], makes further fibers with [New]
// and [NewC], and runs them with [Fiber.SwitchTo], which returns when another fiber
// switches back. A body that returns finishes its fiber and hands the thread to
// the thread's root.
//
// # Reading it
//
// A fiber's life, in order: fiber.go makes and closes it, pool.go finds it a runner, and switch.go and switch.c enter
// it and leave it. runner.go runs its body, and retire.go ends a runner that is not kept.
//
// Below that are files in C:
//
//	thread.c            what a thread knows
//	slot.c, identity.c  how the Go runtime takes a fiber for a thread
//	processor.c         how an arriving fiber gets the right to run Go code
//	preempt.c           how the runtime can interrupt it, also after a move to another thread
//	overflow.c          the report on a guard page and other faults
//
// The backend on Go's own coroutines is in coroutine_*.go. The other files can be read without it.
//
// # What a Go body may do
//
// Everything a goroutine may: call, block, allocate, panic and recover, grow its
// stack, call C that calls Go. Blocking on a channel or a lock blocks its thread
// with all fibers on it, as it would block any goroutine locked to its thread. On
// the hand-switched backends a fiber's goroutine counts as locked to its thread.
//
// # Changing threads
//
// A suspended fiber may be entered from any root of its backend, one at a time. When SwitchTo returns, the thread, its
// root and the addresses of thread-local variables may be others than before. What belongs to the fiber stays: what
// Self returns, its Residue and its Task.
//
// A fiber can be entered once it has left its thread, which it has when what it switched to runs. Before that, SwitchTo
// returns ErrRunning. A scheduler therefore queues a fiber on the far side of the switch. A body that returns
// goes to the root of the thread on which it runs then.
//
// On the Goroutine backend, roots that exchange fibers must not be locked to their threads. A fiber that a locked root
// was the first to enter stays with that root; elsewhere SwitchTo returns ErrPinned. A fiber that was never entered can
// go to either kind, whatever its runner did before. In a coroutine of iter.Pull that a fiber calls under an unlocked
// root, Current returns nil, so the coroutine cannot suspend the fiber.
//
// # Tools
//
// The runtime's tools see an identity as a thread, with two limits. A CPU profile
// counts a thread's samples once for each identity that was made on it. go tool
// trace refuses an execution trace during which fibers switched.
package fiber
