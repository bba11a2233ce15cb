// Package forkjoin runs tasks that submit tasks and need their results. The caller that asks for the result of a task
// that has not started runs the task itself, so no number of nested tasks can use up the workers.
//
//	pool, err := forkjoin.New(s, forkjoin.Config{})
//	left, right := forkjoin.Join(pool, sumLeft, sumRight)
//
// Three forms of a pool stand side by side. They differ in where a task waits that has been forked and not begun:
//
//	form_locked.go     one list under one lock
//	form_deque.go      a double-ended queue for each stack that forks, from whose other end others steal
//	form_heartbeat.go  a list whose owner needs neither lock nor fence (forks.go); idle workers take its oldest entry
//
// Read them in this order, after future.go, which says what a future is. Then come the ways to fork: join.go; scope.go,
// for any number of forks with one join; typed.go, and typed_context.go for functions that may fail. docs/forkjoin.md
// has drawings, and says what each costs.
package forkjoin

import _ "fiberlab/internal/platform"
