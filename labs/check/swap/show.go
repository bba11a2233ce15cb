package swap

import (
	"context"
	"errors"
	"fmt"

	"fiberlab/labs/grade"
	"fiberlab/labs/record"
)

// Show records three swaps for a reader: A to B, which is fresh; B back to A; and A to B again. A swap that goes astray
// is the last one of the recordings. A *grade.Trouble says that not even the first could be recorded.
func (s Subject) Show(ctx context.Context, b *grade.Bench) (all []*record.Recording, err error) {
	b.Random = b.Draw("show")
	w, err := newWorld(ctx, b, s, 2)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	one, two := w.fiber[0], w.fiber[1]
	if err := w.prepare(ctx, two); err != nil {
		return nil, err
	}
	for i, route := range [][2]*fiber{{one, two}, {two, one}, {one, two}} {
		from, to := route[0], route[1]
		l, err := w.swap(ctx, from, to)
		if err != nil {
			return all, err
		}
		at, fresh := to.back, ""
		if i == 0 {
			at, fresh = to.body, ", which is fresh"
		}
		l.recording.Title = fmt.Sprintf("%s swaps to %s%s", from.name, to.name, fresh)
		l.recording.Regions = l.recording.Regions[:stackTo+1]
		l.recording.Labels = w.labels()
		all = append(all, l.recording)
		if !l.arrived(at) {
			break
		}
	}
	return all, nil
}

// labels name the addresses that a reader meets.
func (w *world) labels() []record.Label {
	labels := []record.Label{}
	for _, f := range w.fiber {
		labels = append(labels,
			record.Label{Address: record.Word(f.back), Text: "where " + f.name + " goes on"},
			record.Label{Address: record.Word(f.body), Text: "the body of " + f.name},
			record.Label{Address: record.Word(f.context), Text: "the context of " + f.name},
			record.Label{Address: record.Word(f.stack + stackSize), Text: "the top of the stack of " + f.name})
		for i, arg := range f.args {
			labels = append(
				labels, record.Label{Address: record.Word(arg), Text: fmt.Sprintf("argument %d of %s", i+1, f.name)},
			)
		}
	}
	return labels
}
