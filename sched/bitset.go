package sched

import (
	"math/bits"
	"sync/atomic"
)

// bitset is a set of workers' numbers that many threads change at once.
type bitset []atomic.Uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) add(i int)    { b[i/64].Or(1 << (i % 64)) }
func (b bitset) remove(i int) { b[i/64].And(^uint64(1 << (i % 64))) }

// take removes the lowest and returns it, or -1 if the set is empty.
func (b bitset) take() int {
	for i := range b {
		for word := b[i].Load(); word != 0; word = b[i].Load() {
			lowest := uint64(1) << bits.TrailingZeros64(word)
			if b[i].And(^lowest)&lowest != 0 {
				return i*64 + bits.TrailingZeros64(word)
			}
		}
	}
	return -1
}
