package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fiberlab/sched"
)

// addGroupFlags adds the flags that lay out scheduling groups. groupFlags checks their values.
func addGroupFlags(c *cobra.Command, g *sched.Groups, mode *string) {
	c.Flags().IntVar(&g.Size, "group-size", sched.GroupSize, "policy group: workers that share a queue")
	c.Flags().StringVar(mode, "mode", modeNames()[0], "policy group: `NAME` of the queue that workers prefer: "+
		"balance (the shared one) or affinity (their private one)")
	c.Flags().IntVar(&g.Spinners, "spinners", sched.DefaultSpinners,
		"policy group: idle workers of a group that spin at once")
}

// groupFlags returns g as the scheduler takes it.
// A flag about groups is an error if policy group is not among those chosen.
func groupFlags(flags *pflag.FlagSet, g sched.Groups, mode string, chosen []sched.Policy) (sched.Groups, error) {
	for _, name := range []string{"group-size", "mode", "spinners", "stats"} {
		if flags.Changed(name) && !slices.Contains(chosen, sched.Group) {
			return g, fmt.Errorf(
				"--%s is about policy %v, which is not chosen: add --policy %[2]v, or leave it out", name, sched.Group,
			)
		}
	}
	if g.Size < 1 || g.Size > sched.GroupSize {
		return g, wrongValue(flags.Lookup("group-size"), strconv.Itoa(g.Size))
	}
	if g.Spinners < 0 || g.Spinners > mostWorkers {
		return g, wrongValue(flags.Lookup("spinners"), strconv.Itoa(g.Spinners))
	}
	if g.Spinners == 0 {
		g.Spinners = -1 // for sched.Groups, 0 is the default
	}
	var err error
	if g.Mode, err = sched.ParseGroupMode(mode); err != nil || mode == "" {
		return g, wrongValue(flags.Lookup("mode"), mode)
	}
	return g, nil
}

// modeNames lists the modes of scheduling groups, the default one first.
func modeNames() []string { return []string{sched.BalanceMode.String(), sched.AffinityMode.String()} }
