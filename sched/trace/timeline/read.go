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
	strings  table[string]
	details  table[string] // of a slice or instant: pairs of a name and a value, as one JSON array
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
type slice struct {
	since, until        uint64
	class, name, detail uint32
}

type instant struct {
	at                  uint64
	lane                int
	class, name, detail uint32
}

type arrow struct {
	from, to   uint64
	start, end int // lanes
}

// table gives each value a number, in the order in which they come.
type table[T comparable] struct {
	numbers map[T]uint32
	list    []T
}

func (t *table[T]) of(v T) uint32 {
	n, known := t.numbers[v]
	if !known {
		if t.numbers == nil {
			t.numbers = map[T]uint32{}
		}
		n = uint32(len(t.list))
		t.numbers[v] = n
		t.list = append(t.list, v)
	}
	return n
}

// event is one of the Trace Event format.
type event struct {
	Name     string         `json:"name"`
	Phase    string         `json:"ph"`
	Class    string         `json:"cat"`
	Start    float64        `json:"ts"`
	Took     float64        `json:"dur"`
	PID, TID int            // names of JSON are matched in any case
	ID       int            `json:"id"`
	Args     map[string]any `json:"args"`
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
	open      map[int]end // the arrows of which one end was read
	pairs     [][2]end
}

// end is one end of an arrow.
type end struct {
	track trackID
	at    uint64
}

// Read reads a trace in the Trace Event format, as [trace.Recorder.WriteTrace] writes it: slices, instants, arrows, and
// the names of processes and threads. Other events are passed over. The error wraps that of r, or [ErrFormat].
func Read(r io.Reader) (*Timeline, error) {
	in := reader{Timeline: &Timeline{}, processes: map[int]string{}, tracks: map[trackID]*track{}, open: map[int]end{}}
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

// document reads the object around the events.
func (in *reader) document(d *json.Decoder) error {
	if err := expect(d, '{'); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key != "traceEvents" {
			var other json.RawMessage
			if err := d.Decode(&other); err != nil {
				return err
			}
			continue
		}
		if err := expect(d, '['); err != nil {
			return err
		}
		for d.More() {
			var e event
			if err := d.Decode(&e); err != nil {
				return err
			}
			in.event(e)
		}
		if err := expect(d, ']'); err != nil {
			return err
		}
	}
	return expect(d, '}')
}

func expect(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err == nil && token != want {
		err = fmt.Errorf("%w: %v stands where %v is expected", ErrFormat, token, want)
	}
	return err
}

// event takes one event.
func (in *reader) event(e event) {
	id := trackID{e.PID, e.TID}
	since := nanoseconds(e.Start)
	switch e.Phase {
	case "M":
		name, _ := e.Args["name"].(string)
		if e.Name == "process_name" {
			in.processes[e.PID] = name
		} else if e.Name == "thread_name" {
			in.track(id).name = name
		}
	case "X":
		t := in.track(id)
		t.slices = append(t.slices, slice{
			since, since + nanoseconds(e.Took), in.strings.of(class(e)), in.strings.of(e.Name), in.detail(e.Args),
		})
	case "i":
		t := in.track(id)
		t.points = append(t.points, instant{
			at: since, class: in.strings.of(e.Class), name: in.strings.of(e.Name), detail: in.detail(e.Args),
		})
	case "s", "f":
		in.track(id)
		here := end{id, since}
		other, known := in.open[e.ID]
		if !known {
			in.open[e.ID] = here
			return
		}
		delete(in.open, e.ID)
		if e.Phase == "s" {
			here, other = other, here
		}
		in.pairs = append(in.pairs, [2]end{other, here})
	}
}

// class is by what slices are summed up: fibers by their state.
func class(e event) string {
	if e.Class == "state" {
		return e.Name
	}
	return e.Class
}

func nanoseconds(us float64) uint64 { return uint64(math.Round(max(us, 0) * 1000)) }

func (in *reader) track(id trackID) *track {
	t := in.tracks[id]
	if t == nil {
		t = &track{name: fmt.Sprint("thread ", id.thread)}
		in.tracks[id] = t
	}
	return t
}

func (in *reader) detail(args map[string]any) uint32 {
	pairs := []string{}
	for _, key := range slices.Sorted(maps.Keys(args)) {
		pairs = append(pairs, key, fmt.Sprint(args[key]))
	}
	text, err := json.Marshal(pairs)
	if err != nil {
		panic(err) // of strings it cannot be
	}
	return in.details.of(string(text))
}

// layOut makes the lanes of all tracks.
func (in *reader) layOut() {
	ids := slices.SortedFunc(maps.Keys(in.tracks), func(a, b trackID) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.thread, b.thread))
	})
	lanes := map[trackID]int{}
	for _, id := range ids {
		t := in.tracks[id]
		lanes[id] = len(in.lanes)
		slices.SortStableFunc(t.points, func(a, b instant) int { return cmp.Compare(a.at, b.at) })
		for i := range t.points {
			t.points[i].lane = len(in.lanes)
		}
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

// nest divides the slices of a track by the depth at which they lie within others; there is one depth at least. A slice
// that overlaps another one without lying within it goes to the first depth where it fits.
func nest(list []slice) [][]slice {
	slices.SortStableFunc(list, func(a, b slice) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(b.until, a.until))
	})
	depths := make([][]slice, 1)
	for _, s := range list {
		depth := 0
		for depth < len(depths) && len(depths[depth]) > 0 && depths[depth][len(depths[depth])-1].until > s.since {
			depth++
		}
		if depth == len(depths) {
			depths = append(depths, nil)
		}
		depths[depth] = append(depths[depth], s)
	}
	return depths
}
