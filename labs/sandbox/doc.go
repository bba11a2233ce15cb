// Package sandbox compiles and runs programs that are not trusted.
//
// A program that uses it calls Init first in main (and in TestMain). To run a command confined, it starts itself again:
// the child gives up what the command does not need, and then executes it. Wrap returns the arguments of such a start.
//
// What to read, in this order:
//
//	collect.go   which files of a submission are taken
//	compiler.go  the compiler of each architecture
//	build.go     from sources to a program
//	includes.go  what sources may include
//	symbols.go   what objects may define and use
//	wrap.go      how a process starts itself again, confined
//	confine.go   what the child gives up: time, memory, descriptors
//	landlock.go  files
//	seccomp.go   system calls, whose numbers are in calls.go
//	missing.go   what a kernel may not have
package sandbox
