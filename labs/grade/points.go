package grade

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"fiberlab/labs/machine"
)

// Points are what a teacher says of a lab's points, in a file points.toml. The zero value changes nothing.
type Points struct {
	// Weight is what the lab is worth in the course, in any unit; 0: it has none.
	Weight float64        `toml:"weight"`
	Items  map[string]int `toml:"items"` // points by the item's name; 0 leaves it out; others have the lab's own points
	Late   Late           `toml:"late"`
}

// Late says what it costs to hand in late.
type Late struct {
	Due    time.Time `toml:"due"`
	Grace  Duration  `toml:"grace"`   // what is handed in so long after Due is not late
	PerDay int       `toml:"per_day"` // percent of the points, for each day that has begun since Due
	Most   int       `toml:"most"`    // percent: not more than this; 0: all
}

// Duration is a duration that is written as 15m or 2h.
type Duration time.Duration

// UnmarshalText reads a duration as time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// ReadPoints reads a file points.toml. Keys that mean nothing are errors.
func ReadPoints(path string) (*Points, error) {
	p := new(Points)
	about, err := toml.DecodeFile(path, p)
	var late struct{ Late struct{ Due any } }
	if err == nil {
		_, err = toml.DecodeFile(path, &late)
	}
	zone := time.UTC
	if due, given := late.Late.Due.(time.Time); given {
		zone = due.Location() // the library names it date-local, for example, if there is none
	}
	switch unknown := about.Undecoded(); {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist: fiberlab points LAB prints what may stand in it", path)
	case err != nil:
		return nil, fmt.Errorf("%s: %w: fiberlab points LAB prints what may stand in it", path, err)
	case len(unknown) > 0:
		return nil, fmt.Errorf("%s: %s means nothing: fiberlab points LAB prints what may stand there", path, unknown[0])
	case !(p.Weight >= 0) || math.IsInf(p.Weight, 1), p.Late.PerDay < 0, p.Late.PerDay > 100, p.Late.Most < 0,
		p.Late.Most > 100, p.Late.Grace < 0:
		return nil, fmt.Errorf(
			"%s: weight is a number from 0 up, per_day and most are 0 to 100, grace is a duration from 0s up", path,
		)
	case strings.HasSuffix(zone.String(), "-local"):
		return nil, fmt.Errorf("%s: due has no zone: write a time as 2030-01-31T23:59:00+01:00", path)
	case p.Late.PerDay > 0 && p.Late.Due.IsZero():
		return nil, fmt.Errorf("%s: late has per_day and no due: add when the lab is due", path)
	}
	return p, nil
}

// Weighed returns the lab with the points that p gives. What p leaves out is not examined.
func (l *Lab) Weighed(p *Points) (*Lab, error) {
	known := map[string]bool{}
	weigh := func(items []Item) (left []Item, err error) {
		for _, item := range items {
			known[item.Name] = true
			if points, given := p.Items[item.Name]; given {
				item.Points = points
			}
			if item.Points < 0 {
				return nil, fmt.Errorf("points for %q: %d is less than 0", item.Name, item.Points)
			}
			if item.Points > 0 {
				left = append(left, item)
			}
		}
		if len(left) == 0 && len(items) > 0 {
			return nil, fmt.Errorf("points for lab %s: all items are left out: give one some points", l.Number)
		}
		return left, nil
	}
	weighed := *l
	var err error
	if weighed.Items, err = weigh(l.Items); err != nil {
		return nil, err
	}
	if l.ByArch != nil {
		weighed.ByArch = map[string][]Item{}
	}
	for arch, items := range l.ByArch {
		if weighed.ByArch[arch], err = weigh(items); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Items)) {
		if !known[name] {
			return nil, fmt.Errorf("lab %s has no item %q: fiberlab points %s prints their names", l.Number, name, l.Number)
		}
	}
	return &weighed, nil
}

// Cost returns how many days late a submission is that was handed in at that time, and how many of its points that
// costs, rounded down.
func (l Late) Cost(at time.Time, points int) (days, lost int) {
	if l.Due.IsZero() || !at.After(l.Due.Add(time.Duration(l.Grace))) {
		return 0, 0
	}
	const day = 24 * time.Hour
	days = int((at.Sub(l.Due) + day - 1) / day)
	most := l.Most
	if most == 0 {
		most = 100
	}
	return days, points * min(days*l.PerDay, most) / 100
}

// PointsText is a points.toml for the lab on some architecture, with what may stand in it and the lab's own points.
func (l *Lab) PointsText(a *machine.Arch) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Points of lab %s, %s: %s/points.toml. What is not said here is as the lab has it.

# weight = 15       # what the lab is worth in the course

[items]             # 0 leaves an item out
`, l.Number, l.Title, l.Home())
	for _, item := range l.ItemsOn(a) {
		fmt.Fprintf(&b, "%q = %d\n", item.Name, item.Points)
	}
	b.WriteString(`
# [late]
# due = 2030-01-31T23:59:00+01:00
# grace = "15m"     # so much later is not late
# per_day = 10      # percent of the points, for each day that has begun
# most = 50         # percent, at most
`)
	return b.String()
}
