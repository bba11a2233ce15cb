package grade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fiberlab/labs/machine"
)

// ItemTime is how long the examination of one item may take. A submission that is right takes milliseconds, or a second
// in an emulator.
const ItemTime = 10 * time.Second

// timeOf is how long an item with that limit may take on a machine that has so many processors. load is what
// /proc/loadavg says. The time grows with the load, up to five times limit. Until then the item still gets a fifth of
// limit in processor time.
func timeOf(limit time.Duration, load string, processors int) time.Duration {
	var programs float64
	_, _ = fmt.Sscan(load, &programs)
	return time.Duration(float64(limit) * min(max(programs/float64(processors)/5, 1), 5)).Round(time.Second)
}

// mostFaults is how many faults of an item are reported. The first are the nearest to the cause.
const mostFaults = 4

// longestFault is how much of a fault's text is kept, in bytes: names and answers are a submission's own.
const longestFault = 2000

// Examine runs all items over a submission that has been built. The error is for what is not the submission's fault;
// what the submission did wrong stands in the report. progress is told the number of items that are done;
// it may be nil.
func (l *Lab) Examine(ctx context.Context, b *Bench, progress func(done int)) (*Report, error) {
	r := &Report{Lab: l.Number, Title: l.Title, Arch: b.Arch.Name, Seed: b.Seed, Items: []ItemReport{}}
	items := l.ItemsOn(b.Arch)
	found := make([][]Fault, len(items))
	var mu sync.Mutex
	done := 0
	examine := func(ctx context.Context, b *Bench, i int) (err error) {
		defer func() { // a caller cannot recover on this goroutine, and may have others to grade
			if p := recover(); p != nil {
				err = fmt.Errorf("lab %s, %s: the grader failed: %v\n%s", l.Number, items[i].Name, p, debug.Stack())
			}
		}()
		if found[i], err = b.examine(ctx, items[i]); err != nil {
			return fmt.Errorf("lab %s, %s: %w", l.Number, items[i].Name, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if done++; progress != nil {
			progress(done)
		}
		return nil
	}
	if l.AtOnce > 1 {
		group, limited := errgroup.WithContext(ctx)
		group.SetLimit(l.AtOnce)
		for i := range items {
			own := *b
			group.Go(func() error { return examine(limited, &own, i) })
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
	} else {
		for i := range items {
			if err := examine(ctx, b, i); err != nil {
				return nil, err
			}
		}
	}
	for i, item := range items {
		r.add(item, found[i])
	}
	r.Measured = b.figures
	return r, nil
}

// examine runs one item. Trouble with the submission becomes a fault.
func (b *Bench) examine(ctx context.Context, item Item) ([]Fault, error) {
	load, _ := os.ReadFile("/proc/loadavg") // without it, the machine counts as idle
	limit := cmp.Or(b.itemTime, timeOf(ItemTime, string(load), runtime.NumCPU()))
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	b.Random = newRandom(b.Seed, item.Name)
	faults, err := item.Check(limited, b)
	var trouble *Trouble
	if errors.Is(err, machine.ErrEnded) && b.last != nil {
		err = b.last // a check has gone on with a program that had ended
	}
	if errors.As(err, &trouble) {
		faults, err = append(faults, Fault{Text: trouble.Doing + " " + trouble.What, Place: trouble.Place}), nil
	}
	// A program may unmap what the harness has, and may say that its data are where nothing is.
	var nowhere *machine.UnmappedError
	if errors.As(err, &nowhere) {
		faults, err = append(
			faults, Fault{Text: "the program has no memory where the examination needs some: " + nowhere.Error()},
		), nil
	}
	if errors.Is(err, machine.ErrMode) {
		faults, err = append(faults, Fault{Text: machine.ErrMode.Error()}), nil
	}
	// An error that an earlier item left behind, in what is shared, tells of that item's time.
	if err != nil && ctx.Err() == nil && (limited.Err() != nil || errors.Is(err, context.DeadlineExceeded)) {
		faults, err = append(faults, Fault{Text: fmt.Sprintf("the examination did not end within %v", limit)}), nil
	}
	if err == nil {
		err = ctx.Err()
	}
	faults = faults[:min(len(faults), mostFaults)]
	for i := range faults {
		faults[i].Text = machine.Clip(faults[i].Text, longestFault, " ...")
		if faults[i].Section == "" {
			faults[i].Section = item.Section
		}
	}
	return faults, err
}

// NewSeed draws the seed of an examination, short enough to be typed again.
func NewSeed() uint64 { return uint64(rand.Uint32()) }

// Draw returns random values that depend on the bench's seed and on name.
func (b *Bench) Draw(name string) *rand.Rand { return newRandom(b.Seed, name) }

// newRandom draws for one item, so that what is drawn does not depend on the items before it.
func newRandom(seed uint64, name string) *rand.Rand {
	mixed := seed
	for _, c := range []byte(name) {
		mixed = (mixed ^ uint64(c)) * 0x100000001b3
	}
	return rand.New(rand.NewPCG(seed, mixed))
}

// Shared returns what make has made under that name for this bench, and makes it the first time, so that several items
// may look at one run. make gets ctx, and random values that do not depend on the item that asks first. Its error is
// kept, too.
func Shared[T any](ctx context.Context, b *Bench, name string, make func(context.Context) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	if b.shared == nil {
		b.shared = map[string]any{}
	}
	if _, made := b.shared[name]; !made {
		random := b.Random
		b.Random = newRandom(b.Seed, name)
		value, err := make(ctx)
		b.Random = random
		b.shared[name] = outcome{value, err}
	}
	o := b.shared[name].(outcome)
	return o.value, o.err
}

// On returns an error, which names the lab's architectures, if the lab is not done on a.
func (l *Lab) On(a *machine.Arch) error {
	for _, known := range l.Arches {
		if known == a {
			return nil
		}
	}
	names := ""
	for i, known := range l.Arches {
		if i > 0 {
			names += " and "
		}
		names += known.Name
	}
	return fmt.Errorf("lab %s is about %s: give --arch %s", l.Number, names, l.Arches[0].Name)
}

// ItemsOn returns the items on an architecture.
func (l *Lab) ItemsOn(a *machine.Arch) []Item {
	if l.Items != nil {
		return l.Items
	}
	return l.ByArch[a.Name]
}
