package grade

import "fiberlab/labs/machine"

// Report is the result of one examination.
type Report struct {
	Lab      string       `json:"lab"`
	Title    string       `json:"title"`
	Arch     string       `json:"arch"`
	Seed     uint64       `json:"seed"` // of what was drawn for this run
	Points   int          `json:"points"`
	Of       int          `json:"of"`
	Items    []ItemReport `json:"items"`
	Build    *BuildReport `json:"build,omitempty"`    // what the compiler said, if it said anything
	Remarks  []string     `json:"remarks,omitempty"`  // what this machine lacks, and the like
	Measured []Figure     `json:"measured,omitempty"` // what was counted or measured beside the points
}

// ItemReport is the result of one item.
type ItemReport struct {
	Name    string  `json:"name"`
	Points  int     `json:"points"`
	Of      int     `json:"of"`
	Section string  `json:"section"` // of the handout
	Faults  []Fault `json:"faults"`
}

// BuildReport is what the compiler said.
type BuildReport struct {
	Failed bool     `json:"failed"`
	Said   []string `json:"said"` // lines
}

// Figure is something that was counted or measured.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Full reports whether all points were given.
func (r *Report) Full() bool { return r.Points == r.Of && r.Of > 0 }

func (r *Report) add(item Item, faults []Fault) {
	i := ItemReport{Name: item.Name, Of: item.Points, Section: item.Section, Faults: faults}
	if len(faults) == 0 {
		i.Points, i.Faults = item.Points, []Fault{}
	}
	r.Points += i.Points
	r.Of += i.Of
	r.Items = append(r.Items, i)
}

// Unbuilt is the report of a submission that could not be taken or built: no points for any item. said is why.
func (l *Lab) Unbuilt(a *machine.Arch, seed uint64, said []string) *Report {
	r := &Report{
		Lab: l.Number, Title: l.Title, Arch: a.Name, Seed: seed, Items: []ItemReport{}, Build: &BuildReport{true, said},
	}
	for _, item := range l.ItemsOn(a) {
		r.Items = append(
			r.Items, ItemReport{Name: item.Name, Of: item.Points, Section: item.Section, Faults: []Fault{}},
		)
		r.Of += item.Points
	}
	return r
}
