package explore_test

import "testing"

// own are protocols of this project, restated in C.
var own = []planted{
	{"eventcount", true, map[string][]string{
		"WEAK_LOOK": {deadlock}, "NO_LOOK_AGAIN": {deadlock}, "LOOK_FIRST": {deadlock}, "COMMIT_STORE": {deadlock},
		"NOTIFY_STORE": {deadlock}, "RELAXED_BRING": {deadlock}, "WEAK_BRING": {deadlock}, "NO_WAKE": {deadlock},
	}},
	{"deque", true, map[string][]string{
		"RELAXED_BOTTOM": {race}, "RELEASE_POP": {check, race}, "RELAXED_TOP": {check, race}, "BOTTOM_FIRST": {check, race},
		"NO_CAS_POP": {check, race}, "LATE_SLOT": {check, race}, "KEEP_BOTTOM": {check, race},
	}},
}

func TestOwn(t *testing.T) {
	t.Parallel()
	tools := toolsOf(t, "")
	for _, p := range own {
		t.Run(p.file, func(t *testing.T) {
			t.Parallel()
			p.check(t, tools, "own/")
		})
	}
}
