// Package sched is the room of policy: who runs next, on which worker, and how
// long an idle worker waits. It imports package fiber and nothing above it, and
// no package below it knows that it exists.
//
// It holds no code yet. Until it does, a program that wants many fibers on a
// thread switches between them itself, as the pipeline of cmd/fiberlab does.
package sched
