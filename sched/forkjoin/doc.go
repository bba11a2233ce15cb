// Package forkjoin runs tasks that submit tasks and need their results. The caller that asks for the result of a task that has not
// started runs the task itself, so no number of nested tasks can use up the workers.
//
//	pool, err := forkjoin.New(s, forkjoin.Config{})
//	left, right := forkjoin.Join(pool, sumLeft, sumRight)
//
// Three forms of a pool stand side by side. They differ in where a task waits that has been forked and not begun:
//
//	form_locked.go     one list under one lock
//	form_deque.go      a double-ended queue for each stack that forks, from whose other end others steal
//	form_heartbeat.go  a list that no other thread may touch; now and then its oldest entry is handed out
//
// Read them in this order, after future.go, which says what a future is, and before join.go and typed.go. docs/forkjoin.md has drawings,
// and what each costs.
package forkjoin

import _ "fiberlab/internal/platform"
