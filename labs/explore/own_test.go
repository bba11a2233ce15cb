package explore_test

import "testing"

// own are protocols of this project, restated in C: with faults, and with weaker orders that change nothing.
var own = []planted{
	{file: "eventcount", faults: map[string][]string{
		"LOOK=memory_order_acq_rel": {deadlock}, "SEE=memory_order_acquire": {deadlock},
		"TEST=memory_order_acquire": {deadlock}, "TEST=memory_order_relaxed": {deadlock},
		"BRING=memory_order_acq_rel": {deadlock}, "BRING=memory_order_relaxed": {deadlock},
		"STORE_LOOK": {deadlock}, "STORE_BRING": {deadlock}, "NO_LOOK_AGAIN": {deadlock}, "LOOK_FIRST": {deadlock},
		"COMMIT_STORE": {deadlock}, "NOTIFY_STORE": {deadlock}, "NO_WAKE": {deadlock},
	}, harmless: map[string]string{
		"COMMIT=memory_order_relaxed": "what counts is that it compares and swaps at once; Look orders what comes before",
		"NOTIFY=memory_order_relaxed": "what counts is that it compares and swaps at once; the token orders the rest",
	}},
	{file: "deque", faults: map[string][]string{
		"PUSH_BOTTOM=memory_order_relaxed": {twice}, "STEAL_TAKE=memory_order_relaxed": {twice},
		"POP_BOTTOM=memory_order_acq_rel": {twice}, "POP_TOP=memory_order_acquire": {twice},
		"STEAL_BOTTOM=memory_order_acquire": {twice}, "STEAL_BOTTOM=memory_order_relaxed": {lost},
		"STORE_POP": {twice}, "BOTTOM_FIRST": {twice}, "NO_CAS_POP": {twice}, "LATE_SLOT": {race, twice},
		"KEEP_BOTTOM": {race, twice, lost},
	}, harmless: map[string]string{
		"PUSH_SLOT=memory_order_relaxed":  "the store of bottom that follows releases it",
		"STEAL_SLOT=memory_order_relaxed": "the load of bottom before it acquires it",
		"STEAL_TOP=memory_order_relaxed":  "with an old top the compare-and-swap fails",
		"POP_TAKE=memory_order_relaxed":   "it is on the last item only, and one of two succeeds in any order",
	}},
}

func TestOwn(t *testing.T) {
	t.Parallel()
	tools := toolsOf(t, "")
	for _, p := range sample(own) {
		t.Run(p.file, func(t *testing.T) {
			t.Parallel()
			p.check(t, tools, "own/")
		})
	}
}
