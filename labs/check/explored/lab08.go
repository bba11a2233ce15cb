package explored

import "fiberlab/labs/grade"

func lab08() *grade.Lab {
	l := lab("08", "stealing", []string{"*.c", "*.h"}, []scenario{
		{file: "owner.c", name: "the owner takes the newest task", points: 8, section: "8.2", schedules: 50_000},
		{file: "oldest.c", name: "a thief takes the oldest task", points: 7, section: "8.3", schedules: 50_000},
		{
			file: "publish.c", name: "a thief sees all of a task", points: 8, section: "8.3", schedules: 50_000,
		},
		{
			file: "thieves.c", name: "of two thieves each gets a task", points: 8, section: "8.4", schedules: 50_000,
		},
		{
			file: "last.c", name: "the last task goes to the owner or to a thief", points: 10, section: "8.4",
			schedules: 50_000,
		},
		{file: "three.c", name: "an owner and two thieves share", points: 8, section: "8.4", schedules: 50_000},
		{file: "again.c", name: "a slot is used again", points: 6, section: "8.4", schedules: 50_000},
		{file: "find.c", name: "a worker finds every task", points: 10, section: "8.5", schedules: 50_000},
		{file: "outside.c", name: "tasks come from outside", points: 5, section: "8.5", schedules: 50_000},
		{
			file: "wake.c", name: "a task from outside wakes a worker", points: 10, section: "8.6",
			preemptions: 3, schedules: 50_000,
		},
		{
			file: "share.c", name: "a worker's task wakes another worker", points: 10, section: "8.6",
			preemptions: 2, schedules: 30_000,
		},
		{
			file: "asleep.c", name: "no worker sleeps while a task waits", points: 10, section: "8.6",
			preemptions: 2, schedules: 100_000,
		},
	})
	l.Examiner.(*examiner).calls = locks
	l.Examiner.(*examiner).shared = []string{"tasks"}
	l.Fixed = []string{"stealing.h"}
	return l
}
