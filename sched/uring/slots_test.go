package uring

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// withSlots runs test on each ring that can have slots for files.
func withSlots(t *testing.T, requests, slots int, test func(t *testing.T, r *ring)) {
	eachSetup(t, requests, func(t *testing.T, r *ring) {
		if !r.can(directFiles) {
			t.Skip("this kernel has no direct descriptors")
		}
		require.NoError(t, r.openSlots(slots))
		test(t, r)
	})
}

// readChain stages a chain that opens a file into a slot, reads it twice, and empties the slot.
func readChain(t *testing.T, r *ring, slot uint16, name string, head, tail []byte) {
	cname := append([]byte(name), 0)
	must(t, r, Entry{id: 1, Op: OpOpen, How: linked | direct, FD: unix.AT_FDCWD, Addr: pinned(t, cname), group: slot})
	must(
		t, r,
		Entry{
			id: 2, Op: OpRead, How: linked | always | direct, FD: int32(slot), Addr: pinned(t, head),
			Length: uint32(len(head)), Offset: ^uint64(0),
		},
	)
	must(
		t, r,
		Entry{
			id: 3, Op: OpRead, How: linked | always | direct, FD: int32(slot), Addr: pinned(t, tail),
			Length: uint32(len(tail)), Offset: ^uint64(0),
		},
	)
	must(t, r, Entry{id: 4, Op: OpClose, How: direct, FD: int32(slot)})
}

// One turn opens a file, reads it and closes it, though it is shorter than the buffer.
func TestChainReadsAFile(t *testing.T) {
	withSlots(t, 8, 2, func(t *testing.T, r *ring) {
		name := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(name, []byte("contents"), 0o600))
		for range 3 { // the slot can be used again
			head, tail := make([]byte, 100), make([]byte, 100)
			readChain(t, r, 1, name, head, tail)
			by := byID(t, await(t, r, 4))
			require.NoError(t, by[1].Err())
			require.EqualValues(t, 8, by[2].Result, by[2].Err())
			require.EqualValues(t, 0, by[3].Result, by[3].Err())
			require.NoError(t, by[4].Err())
			require.Equal(t, "contents", string(head[:8]))
		}
	})
}

// If the file cannot be opened, nothing is read from a file that another chain had in the slot.
func TestChainEndsWithItsOpen(t *testing.T) {
	withSlots(t, 8, 2, func(t *testing.T, r *ring) {
		b := make([]byte, 8)
		readChain(t, r, 0, "/nonexistent", b, b)
		by := byID(t, await(t, r, 4))
		require.ErrorIs(t, by[1].Err(), syscall.ENOENT)
		for id := uint64(2); id <= 4; id++ {
			require.ErrorIs(t, by[id].Err(), syscall.ECANCELED)
		}
	})
}

// A chain is staged whole or not at all.
func TestChainIsStagedWhole(t *testing.T) {
	eachProxy(t, 8, func(t *testing.T, r staging) {
		for range 5 {
			must(t, r, Entry{Op: OpNop})
		}
		require.False(
			t, r.stage(Entry{Op: OpNop, How: linked}), "there is room for 3 requests, and not for the longest chain",
		)
		must(t, r, Entry{Op: OpNop})
		_, err := r.turn(0)
		require.NoError(t, err)
		for range longestChain - 1 {
			must(t, r, Entry{Op: OpNop, How: linked})
		}
		must(t, r, Entry{Op: OpNop})
	})
}
