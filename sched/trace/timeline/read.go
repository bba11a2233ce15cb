package timeline

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// ErrFormat is wrapped by the errors about what is no trace.
var ErrFormat = errors.New("it is no trace in JSON: `fiberlab run --trace FILE.json` writes one")

// Timeline is a recorded run. The slices of one lane stand together, the earliest first, and do not overlap.
type Timeline struct {
	lanes    []lane
	slices   []slice
	instants []instant // by lane, then by time
	arrows   []arrow   // the earliest first
	strings  table
	details  table // of a slice or instant: its arguments, as a JSON object
}

// lane is a line of the page. A track has one for each depth at which its slices nest.
type lane struct {
	Process  string `json:"process"`
	Name     string `json:"name"`
	Depth    int    `json:"depth"`
	Slices   int    `json:"slices"`   // how many
	Instants int    `json:"instants"` // how many
}

// slice is something that lasts. Times are nanoseconds since the recording began.
type slice struct{ since, until, class, name, detail int64 }

type instant struct{ at, class, name, detail int64 }

type arrow struct{ from, to, start, end int64 } // start and end are lanes

// table gives each text a number, in the order in which they come.
type table struct {
	numbers map[string]int64
	list    []string
}

func (t *table) of(text string) int64 {
	n, known := t.numbers[text]
	if !known {
		if t.numbers == nil {
			t.numbers = map[string]int64{}
		}
		n = int64(len(t.list))
		t.numbers[text] = n
		t.list = append(t.list, text)
	}
	return n
}

// event is one of the Trace Event format.
type event struct {
	Name     string          `json:"name"`
	Phase    string          `json:"ph"`
	Class    string          `json:"cat"`
	Start    float64         `json:"ts"`
	Took     float64         `json:"dur"`
	PID, TID int             // names of JSON are matched in any case
	ID       json.RawMessage `json:"id"` // a number or a string
	Args     json.RawMessage `json:"args"`
}

// trackID names a track of a trace.
type trackID struct{ process, thread int }

// track is what was read of one.
type track struct {
	name   string
	slices []slice
	points []instant
}

// reader collects what a trace has.
type reader struct {
	*Timeline
	processes map[int]string
	tracks    map[trackID]*track
	classes   map[string]bool
	open      map[string]end // the arrows of which one end was read
	pairs     [][2]end
}

// mostClasses is how many classes of slices the page can tell apart. All further ones are summed up as one.
const mostClasses = 60

// end is one end of an arrow.
type end struct {
	track trackID
	at    int64
}

func newReader() *reader {
	return &reader{Timeline: &Timeline{}, processes: map[int]string{}, tracks: map[trackID]*track{},
		classes: map[string]bool{}, open: map[string]end{}}
}

// Read reads a trace in the Trace Event format, as [trace.Recorder.WriteTrace] writes it: slices, instants, arrows, and
// the names of processes and threads. Other events are passed over. The error wraps that of r, or [ErrFormat].
func Read(r io.Reader) (*Timeline, error) {
	in := newReader()
	if err := in.document(json.NewDecoder(bufio.NewReaderSize(r, 1<<16))); err != nil {
		if syntax := new(json.SyntaxError); errors.As(err, &syntax) || errors.As(err, new(*json.UnmarshalTypeError)) ||
			errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.Join(ErrFormat, err)
		}
		return nil, fmt.Errorf("timeline: read: %w", err)
	}
	in.layOut()
	return in.Timeline, nil
}

// document reads the events, which are an array by the name of traceEvents.
func (in *reader) document(d *json.Decoder) error {
	var token json.Token
	for before := token; before != "traceEvents"; {
		before = token
		var err error
		if token, err = d.Token(); err != nil {
			return err
		}
	}
	if token != json.Delim('[') {
		return fmt.Errorf("%w: traceEvents is %v, and no array", ErrFormat, token)
	}
	for d.More() {
		var e event
		if err := d.Decode(&e); err != nil {
			return err
		}
		in.event(e)
	}
	_, err := d.Token()
	return err
}

// event takes one event.
func (in *reader) event(e event) {
	id := trackID{e.PID, e.TID}
	since := nanoseconds(e.Start)
	switch e.Phase {
	case "M":
		var args struct{ Name string }
		_ = json.Unmarshal(e.Args, &args) // other events of this phase have other arguments
		if e.Name == "process_name" {
			in.processes[e.PID] = args.Name
		} else if e.Name == "thread_name" {
			in.track(id).name = args.Name
		}
	case "X":
		t := in.track(id)
		t.slices = append(t.slices, slice{
			since, since + nanoseconds(e.Took), in.class(e), in.strings.of(e.Name), in.detail(e.Args),
		})
	case "i":
		t := in.track(id)
		t.points = append(t.points, instant{since, in.strings.of(e.Class), in.strings.of(e.Name), in.detail(e.Args)})
	case "s", "f":
		in.track(id)
		here := end{id, since}
		other, known := in.open[string(e.ID)]
		if !known {
			in.open[string(e.ID)] = here
			return
		}
		delete(in.open, string(e.ID))
		if e.Phase == "s" {
			here, other = other, here
		}
		in.pairs = append(in.pairs, [2]end{other, here})
	}
}

// class is by what slices are coloured and summed up: fibers by their state.
func (in *reader) class(e event) int64 {
	class := e.Class
	if class == "state" {
		class = e.Name
	}
	if !in.classes[class] && len(in.classes) >= mostClasses {
		class = "other"
	}
	in.classes[class] = true
	return in.strings.of(class)
}

func (in *reader) detail(args json.RawMessage) int64 {
	if len(args) == 0 || args[0] != '{' {
		return in.details.of("{}")
	}
	return in.details.of(string(args))
}

func nanoseconds(us float64) int64 { return int64(math.Round(max(us, 0) * 1000)) }

func (in *reader) track(id trackID) *track {
	t := in.tracks[id]
	if t == nil {
		t = &track{name: fmt.Sprint("thread ", id.thread)}
		in.tracks[id] = t
	}
	return t
}

// layOut makes the lanes of all tracks.
func (in *reader) layOut() {
	ids := slices.SortedFunc(maps.Keys(in.tracks), func(a, b trackID) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.thread, b.thread))
	})
	lanes := map[trackID]int64{}
	for _, id := range ids {
		t := in.tracks[id]
		lanes[id] = int64(len(in.lanes))
		slices.SortStableFunc(t.points, func(a, b instant) int { return cmp.Compare(a.at, b.at) })
		in.instants = append(in.instants, t.points...)
		for depth, list := range nest(t.slices) {
			l := lane{Process: in.processes[id.process], Name: t.name, Depth: depth, Slices: len(list)}
			if depth == 0 {
				l.Instants = len(t.points)
			}
			in.lanes = append(in.lanes, l)
			in.slices = append(in.slices, list...)
		}
	}
	for _, p := range in.pairs {
		in.arrows = append(in.arrows, arrow{p[0].at, p[1].at, lanes[p[0].track], lanes[p[1].track]})
	}
	slices.SortStableFunc(in.arrows, func(a, b arrow) int { return cmp.Compare(a.from, b.from) })
}

// nest divides the slices of a track by how many others they lie within or overlap; there is one depth at least.
func nest(list []slice) [][]slice {
	slices.SortStableFunc(list, func(a, b slice) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(b.until, a.until))
	})
	depths := make([][]slice, 1)
	var open []int64 // when the slices end that have not ended, the outermost first
	for _, s := range list {
		for len(open) > 0 && open[len(open)-1] <= s.since {
			open = open[:len(open)-1]
		}
		if len(open) == len(depths) {
			depths = append(depths, nil)
		}
		depths[len(open)] = append(depths[len(open)], s)
		open = append(open, s.until)
	}
	return depths
}
