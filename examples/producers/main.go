// Producers is the classic of condition variables: three producers put items into a buffer with four places, and two
// consumers take them out.
//
// It prints:
//
//	producers: 3 of 100 items each
//	consumers: 300 items, sum 15150
//	the buffer never held more than 4 items, and is empty: true
package main

import (
	"fmt"
	"log"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// buffer has a limited number of places.
type buffer struct {
	mutex    fibersync.Mutex // guards what follows
	notFull  *fibersync.Cond // signalled when a place becomes free
	notEmpty *fibersync.Cond // signalled when an item is put in, and at the end
	items    []int
	most     int  // that were ever in it
	ended    bool // no more items will come
}

const places = 4

func newBuffer() *buffer {
	b := &buffer{}
	b.notFull, b.notEmpty = fibersync.NewCond(&b.mutex), fibersync.NewCond(&b.mutex)
	return b
}

// put adds an item. It waits for a place.
func (b *buffer) put(item int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	// The loop looks again after each wait: when this fiber gets the lock back, another producer may have taken the
	// place. Wait unlocks the mutex and begins to wait in one step, so no signal is lost in between.
	for len(b.items) == places {
		b.notFull.Wait()
	}
	b.items = append(b.items, item)
	b.most = max(b.most, len(b.items))
	b.notEmpty.Signal()
}

// take removes the oldest item. It waits for one, and ok is false if none will come.
func (b *buffer) take() (item int, ok bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for len(b.items) == 0 && !b.ended {
		b.notEmpty.Wait()
	}
	if len(b.items) == 0 {
		return 0, false
	}
	item, b.items = b.items[0], b.items[1:]
	b.notFull.Signal()
	return item, true
}

// end says that no more items will come. All consumers have to know, so it is a broadcast.
func (b *buffer) end() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.ended = true
	b.notEmpty.Broadcast()
}

func main() {
	err := sched.Run(sched.AllCores(), func() {
		b := newBuffer()
		var producers, consumers fibersync.WaitGroup // Go starts a task and counts it; Wait waits for all
		for range 3 {
			producers.Go(func() {
				for item := 1; item <= 100; item++ {
					b.put(item)
				}
			})
		}
		var counts, sums [2]int // of each consumer
		for i := range counts {
			consumers.Go(func() {
				for item, ok := b.take(); ok; item, ok = b.take() {
					counts[i]++
					sums[i] += item
				}
			})
		}
		producers.Wait()
		b.end()
		consumers.Wait()
		fmt.Println("producers: 3 of 100 items each")
		fmt.Printf("consumers: %d items, sum %d\n", counts[0]+counts[1], sums[0]+sums[1])
		fmt.Printf("the buffer never held more than %d items, and is empty: %v\n",
			places, b.most <= places && len(b.items) == 0)
	})
	if err != nil {
		log.Fatal(err)
	}
}
