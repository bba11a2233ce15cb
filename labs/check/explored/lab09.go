package explored

import "fiberlab/labs/grade"

func lab09() *grade.Lab {
	l := lab("09", "fork, join and the deadlock", []string{"*.c", "*.h", "*.S"}, []scenario{
		{file: "alone.c", name: "a get runs its own task", points: 8, section: "9.2", schedules: 1000},
		{file: "room.c", name: "a task that was joined leaves the deque", points: 4, section: "9.2", schedules: 1000},
		{file: "claim.c", name: "one party runs a task", points: 8, section: "9.3", schedules: 50_000},
		{file: "sleeps.c", name: "a get of a task in progress sleeps", points: 6, section: "9.3", schedules: 100_000},
		{
			file: "stuck.c", name: "two workers that wait for their children are not stuck", points: 8, section: "9.3",
			preemptions: 2, schedules: 50_000,
		},
		{file: "drop.c", name: "a task that was given back uses nothing", points: 8, section: "9.4", schedules: 50_000},
		{
			file: "older.c", name: "an entry in a deque may outlive its future", points: 8, section: "9.4",
			preemptions: 3, schedules: 50_000,
		},
		{
			file: "handed.c", name: "a future is given back as soon as its task has ended", points: 8, section: "9.4",
			schedules: 50_000,
		},
		{
			file: "busy.c", name: "a fork wakes a worker that sleeps", points: 8, section: "9.5",
			preemptions: 2, schedules: 50_000,
		},
		{
			file: "back.c", name: "no worker sleeps while a task is in a deque", points: 4, section: "9.5",
			preemptions: 2, schedules: 50_000,
		},
		{
			file: "stop.c", name: "workers that sleep are stopped", points: 6, section: "9.5",
			preemptions: 1, schedules: 50_000,
		},
		{
			file: "waits.c", name: "a worker is not stopped while one of its tasks waits", points: 6, section: "9.5",
			preemptions: 2, schedules: 50_000,
		},
		{file: "leaves.c", name: "a task that waits leaves its worker to others", points: 8, section: "9.6", schedules: 1000},
		{
			file: "parked.c", name: "a get of a task in progress leaves the worker, too", points: 10, section: "9.6",
			preemptions: 2, schedules: 50_000,
		},
	})
	l.Examiner.(*examiner).calls = locks
	l.Examiner.(*examiner).shared = []string{}
	l.Fixed = []string{"swap/context.h", "forkjoin.h", "stealing.h"}
	l.Given = append([]string{"deque.c"}, swap...)
	return l
}
