package bitset

import (
	"math/bits"
	"sync/atomic"
)

// Set is a set of numbers from 0 that many threads change at once.
type Set []atomic.Uint64

// New makes an empty set, which numbers below n can be added to.
func New(n int) Set { return make(Set, (n+63)/64) }

// Add adds i, and Remove removes it.
func (b Set) Add(i int)    { b[i/64].Or(1 << (i % 64)) }
func (b Set) Remove(i int) { b[i/64].And(^uint64(1 << (i % 64))) }

// Take removes the lowest and returns it, or -1 if the set is empty.
func (b Set) Take() int {
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
