package bench

import (
	"fmt"
	"strings"
	"time"
)

// Workload is an operation and the mechanisms that do it.
type Workload struct {
	Name      string
	Title     string
	Operation string // "switch": the unit of a row is nanoseconds a switch
	Base      string // the mechanism to which ratios are taken
	Axis      string // what At of the mechanisms counts; empty: they are no curve
	Rivals    []Mechanism
	Floor     func() (Session, error) // opens the same loop without the operation; nil: there is none
	Sample    time.Duration           // roughly how long a sample takes; 0: as Options say
	Counted   bool                    // system calls, and instructions as the processor counts them
	Marks     []Mark                  // of the axis
	Notes     []string
}

// Switch is the workload of Mechanisms.
func Switch() Workload {
	return Workload{
		Name: "switch", Title: "A switch", Operation: "switch", Base: Mechanisms()[0].Name,
		Rivals: Mechanisms(), Floor: openFloor, Counted: true,
	}
}

// workloads makes each workload when it is asked for: that takes a look at the machine.
var workloads = []struct {
	name string
	make func() Workload
}{
	{"switch", Switch}, {"create", create}, {"ring", rings}, {"tasks", tasks}, {"sync", handover}, {"wake", wake},
	{"join", join}, {"depth", depth}, {"registers", registers}, {"explore", points},
}

// WorkloadNames lists the names of all workloads.
func WorkloadNames() (names []string) {
	for _, w := range workloads {
		names = append(names, w.name)
	}
	return names
}

// ParseWorkloads returns the workloads of that name: one, or with "all" each.
func ParseWorkloads(name string) (list []Workload, err error) {
	for _, w := range workloads {
		if name != w.name && name != "all" {
			continue
		}
		if made := w.make(); len(made.Rivals) > 0 {
			list = append(list, made)
		}
	}
	if list == nil {
		err = fmt.Errorf("unknown workload %q: choose one of %s or all", name, strings.Join(WorkloadNames(), ", "))
	}
	return list, err
}

func (w *Workload) unit() string { return "ns a " + w.Operation }
