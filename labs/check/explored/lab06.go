package explored

import "fiberlab/labs/grade"

func lab06() *grade.Lab {
	l := lab("06", "the five states", []string{"*.c", "*.h", "*.S"}, []scenario{
		{file: "tasks.c", name: "tasks run in their order, on idle fibers", points: 12, section: "6.3", schedules: 1000},
		{file: "yield.c", name: "a fiber that yields goes on after the others", points: 12, section: "6.4",
			schedules: 1000},
		{file: "wait.c", name: "a fiber waits until it is notified", points: 12, section: "6.5", schedules: 1000},
		{file: "arrive.c", name: "tasks come from another thread", points: 10, section: "6.6", schedules: 3000},
		{file: "outside.c", name: "a notification comes from another thread", points: 12, section: "6.7",
			schedules: 3000},
		{file: "own.c", name: "a worker sleeps on a thread of its own", points: 10, section: "6.7", schedules: 8000},
		{file: "stop.c", name: "a worker that is stopped waits for its fibers", points: 10, section: "6.7",
			schedules: 5000},
		{file: "order.c", name: "deadlines come in their order", points: 8, section: "6.8", schedules: 1000},
		{file: "deadline.c", name: "a deadline or a notification ends a wait", points: 8, section: "6.8",
			schedules: 2000},
		{file: "early.c", name: "no deadline comes early", points: 6, section: "6.8", schedules: 3000},
	})
	l.Examiner.(*examiner).shared = []string{"lock"}
	l.Fixed = []string{"swap/context.h", "scheduler.h"}
	l.Given = swap
	return l
}
