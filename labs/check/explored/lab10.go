package explored

import "fiberlab/labs/grade"

// The kernel of this lab chooses what it does. So a scenario of one thread has many schedules, all with 0 preemptions.
func lab10() *grade.Lab {
	l := lab("10", "an engine", []string{"*.c", "*.h"}, []scenario{
		{file: "push.c", name: "entries lie in their queue in their order", points: 8, section: "10.2", schedules: 1000},
		{file: "pop.c", name: "completions come out in their order", points: 7, section: "10.2", schedules: 1000},
		{file: "entries.c", name: "the kernel sees all of an entry", points: 8, section: "10.3", schedules: 10_000},
		{file: "completions.c", name: "the program sees all of a completion", points: 7, section: "10.3",
			schedules: 10_000},
		{file: "one.c", name: "a request is over once, with its result", points: 8, section: "10.4", schedules: 1000},
		{file: "order.c", name: "completions come in any order", points: 8, section: "10.4", schedules: 10_000},
		{file: "full.c", name: "the queues are smaller than the table", points: 8, section: "10.5", schedules: 10_000},
		{file: "part.c", name: "a part is not the whole", points: 8, section: "10.5", schedules: 10_000},
		{file: "again.c", name: "what was interrupted is tried again", points: 6, section: "10.5", schedules: 20_000},
		{file: "cancel.c", name: "a cancel comes in time or too late", points: 8, section: "10.6", schedules: 10_000},
		{file: "ticket.c", name: "a ticket names no later request", points: 6, section: "10.6", schedules: 10_000},
		{file: "close.c", name: "a file is closed while it is in use", points: 8, section: "10.6", schedules: 10_000},
		{file: "stop.c", name: "the engine stops when nothing is left to do", points: 3, section: "10.7",
			schedules: 1000},
		{file: "post.c", name: "a task from another thread wakes the engine", points: 4, section: "10.7",
			schedules: 20_000},
		{file: "leave.c", name: "the last guest that leaves wakes the engine", points: 3, section: "10.7",
			schedules: 20_000},
	})
	l.Examiner.(*examiner).calls = locks
	l.Fixed = []string{"engine.h", "ring.h"}
	return l
}
