package main

import (
	"fmt"

	"fiberlab/sched"
)

// groupReport is what one scheduling group of a scheduler did.
type groupReport struct {
	Group    int `json:"group"` // its number
	Workers  int `json:"workers"`
	Done     int `json:"done"`      // tasks
	NoWorker int `json:"no_worker"` // wake-ups for which none was free
	Spinners int `json:"spinner_wakes"`
	Sleepers int `json:"sleeper_wakes"`
	Within   int `json:"stolen_within"`
	Across   int `json:"stolen_across"`
}

// addGroups adds what each group did.
func (c *countReport) addGroups(groups []sched.GroupStats) {
	for _, g := range groups {
		c.Groups = append(c.Groups, groupReport{
			Group: g.Group, Workers: g.Workers, Done: int(g.Done),
			NoWorker: int(g.NoWorker), Spinners: int(g.Spinners), Sleepers: int(g.Sleepers),
			Within: int(g.StolenWithin), Across: int(g.StolenAcross),
		})
	}
}

// writeGroups has a row for each group of each scheduler. Without any group it writes nothing.
func (r *pipelineReport) writeGroups(p *page) {
	did := newGrid(
		"group", "workers", "done", "no worker", "spinners", "sleepers", "within", "across",
	)
	for _, c := range r.Backends {
		for _, g := range c.Groups {
			name := fmt.Sprintf("%s %d", c.label, g.Group)
			did.add(
				name, thousands(g.Workers), thousands(g.Done), thousands(g.NoWorker), thousands(g.Spinners),
				thousands(g.Sleepers), thousands(g.Within), thousands(g.Across),
			)
		}
	}
	if len(did.rows) == 0 {
		return
	}
	p.table(
		did,
		"What each group did: tasks that ended, wake-ups that found no worker, one that spun or one that slept, "+
			"and steals within the group and from others",
	)
}
