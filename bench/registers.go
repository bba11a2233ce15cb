//go:build amd64 || arm64

package bench

/*
#include "registers.h"
*/
import "C"

// registers is the workload of a switch that saves one group of registers, beside one that saves none: the difference
// is what the group costs.
func registers() Workload {
	w := Workload{
		Name: "registers", Title: "An inline switch that saves one group of registers", Operation: "switch", Base: "none",
		Floor: openFloor, Notes: []string{
			"These switches load the group each time; asm loads the control words only where the two sides differ.",
		},
	}
	for i := range C.register_groups {
		g := &C.register_groups[i]
		w.Rivals = append(w.Rivals, Mechanism{
			Name: C.GoString(g.name), Says: "it saves " + C.GoString(g.says),
			Open: openPingpong(g.loop, 2),
		})
	}
	return w
}
