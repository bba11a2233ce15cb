package verify

import "math/rand/v2"

// chooser makes the decisions of one schedule. The first four schedules, and every fourth one after them, have at most
// 0, 1 or 2 preemptions, since most faults need no more. In the others any thread may go on at any step.
type chooser struct {
	random   *rand.Rand
	bounded  bool
	switches []int // the moments of preemptions
	rate     int   // otherwise: a thread goes on with a probability of 1 - 1/rate
	oldness  int   // a load reads an old value with a probability of 1/oldness; 0: never
	moment   int
	varies   bool // whether it could have decided otherwise
}

// patience is after how many steps in a row, which change nothing, another thread goes on.
const patience = 6

// newChooser makes the chooser of a schedule, by its number. length is the length of the longest script so far.
func newChooser(seed uint64, number, length int) *chooser {
	c := &chooser{random: rand.New(rand.NewPCG(seed, uint64(number)))}
	c.bounded = number < 4 || number%4 == 0
	if c.bounded {
		for range (number + number/4) % 3 {
			c.switches = append(c.switches, c.random.IntN(length+1))
		}
	}
	c.rate = 2 + c.random.IntN(7)
	c.oldness = []int{0, 2, 3, 8}[c.random.IntN(4)]
	return c
}

// thread picks one of the candidates. The first one is current, unless the choice is free.
func (c *chooser) thread(current *thread, candidates []*thread, free bool) *thread {
	c.moment++
	c.varies = c.varies || len(candidates) > 1
	stays := !free && current.idle < patience
	switch {
	case stays && c.bounded:
		for _, at := range c.switches {
			stays = stays && at != c.moment
		}
	case stays:
		stays = c.random.IntN(c.rate) != 0
	}
	if stays {
		return current
	}
	if len(candidates) > 1 && !free {
		candidates = candidates[1:]
	}
	return candidates[c.random.IntN(len(candidates))]
}

// back picks how many stores before the newest a load reads, of n that it may read.
func (c *chooser) back(n int) int {
	const most = 25 // as a script can say it
	c.varies = c.varies || n > 1
	if n < 2 || c.oldness == 0 || c.random.IntN(c.oldness) != 0 {
		return 0
	}
	return c.random.IntN(min(n, most))
}

// fails reports whether a weak compare-exchange that might succeed fails.
func (c *chooser) fails() bool {
	c.varies = true
	return c.random.IntN(8) == 0
}

// value picks what explore_choose(n) returns.
func (c *chooser) value(n int) uint64 {
	c.varies = c.varies || n > 1
	return uint64(c.random.IntN(n))
}
