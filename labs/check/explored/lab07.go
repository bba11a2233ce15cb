package explored

import "fiberlab/labs/grade"

// Each scenario is exhausted: all schedules, or all with at most so many preemptions. The most schedules are what it
// takes with the reference, and some more.
func lab07() *grade.Lab {
	l := lab("07", "sleeping without losing a wake-up", []string{"*.c", "*.h"}, []scenario{
		{file: "one_task.c", name: "a task that is put reaches a worker that waits",
			points: 10, section: "7.2", schedules: 20_000},
		{file: "no_reason.c", name: "a thread waits until it is signalled",
			points: 10, section: "7.3", schedules: 60_000},
		{file: "two_workers.c", name: "two workers take a task each",
			points: 10, section: "7.3", schedules: 200_000},
		{file: "full_queue.c", name: "a thread that puts waits for room",
			points: 3, section: "7.4", preemptions: 2, schedules: 200_000},
		{file: "try.c", name: "a task that is taken without waiting makes room as well",
			points: 2, section: "7.4", schedules: 20_000},
		{file: "gate.c", name: "a broadcast wakes all that wait",
			points: 5, section: "7.4", schedules: 20_000},
		{file: "slot.c", name: "a slot keeps a wake that comes before the wait",
			points: 10, section: "7.5", schedules: 20_000},
		{file: "look_again.c", name: "a worker that looks once more misses nothing",
			points: 15, section: "7.6", schedules: 20_000},
		{file: "not_kept.c", name: "a notification that was taken back ends no later wait",
			points: 5, section: "7.6", schedules: 20_000},
		{file: "passed_on.c", name: "a worker that finds something passes its notification on",
			points: 5, section: "7.6", schedules: 60_000},
		{file: "two_spinners.c", name: "two of three workers may spin",
			points: 5, section: "7.7", schedules: 60_000},
		{file: "spinner_leaves.c", name: "a spinner that finds something passes its notification on",
			points: 5, section: "7.7", schedules: 20_000},
		{file: "spinner_first.c", name: "a notification is for a spinner first, and for one worker",
			points: 5, section: "7.7", schedules: 20_000},
		{file: "may_spin.c", name: "a worker looks while it spins, if it may",
			points: 3, section: "7.8", schedules: 20_000},
		{file: "all_steps.c", name: "a worker takes one task after the other",
			points: 3, section: "7.8", preemptions: 2, schedules: 200_000},
		{file: "both_sleep.c", name: "no task waits while two workers go to sleep",
			points: 2, section: "7.8", preemptions: 2, schedules: 200_000},
		{file: "one_spins.c", name: "no task waits while one worker spins and one goes to sleep",
			points: 2, section: "7.8", preemptions: 2, schedules: 200_000},
	})
	l.Examiner.(*examiner).calls = sleeps
	l.Examiner.(*examiner).shared = []string{"mutex"}
	l.Fixed = []string{"sleep.h"}
	return l
}
