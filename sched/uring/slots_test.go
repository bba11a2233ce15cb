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
	must(t, r, entry{id: 1, op: opOpen, how: linked | direct, fd: unix.AT_FDCWD, addr: pinned(t, cname), group: slot})
	must(
		t, r,
		entry{
			id: 2, op: opRead, how: linked | always | direct, fd: int32(slot), addr: pinned(t, head),
			length: uint32(len(head)), offset: ^uint64(0),
		},
	)
	must(
		t, r,
		entry{
			id: 3, op: opRead, how: linked | always | direct, fd: int32(slot), addr: pinned(t, tail),
			length: uint32(len(tail)), offset: ^uint64(0),
		},
	)
	must(t, r, entry{id: 4, op: opClose, how: direct, fd: int32(slot)})
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
			require.NoError(t, by[1].err())
			require.EqualValues(t, 8, by[2].result, by[2].err())
			require.EqualValues(t, 0, by[3].result, by[3].err())
			require.NoError(t, by[4].err())
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
		require.ErrorIs(t, by[1].err(), syscall.ENOENT)
		for id := uint64(2); id <= 4; id++ {
			require.ErrorIs(t, by[id].err(), syscall.ECANCELED)
		}
	})
}

// A chain is staged whole or not at all.
func TestChainIsStagedWhole(t *testing.T) {
	eachProxy(t, 8, func(t *testing.T, r staging) {
		for range 5 {
			must(t, r, entry{op: opNop})
		}
		require.False(
			t, r.stage(entry{op: opNop, how: linked}), "there is room for 3 requests, and not for the longest chain",
		)
		must(t, r, entry{op: opNop})
		_, err := r.turn(0)
		require.NoError(t, err)
		for range longestChain - 1 {
			must(t, r, entry{op: opNop, how: linked})
		}
		must(t, r, entry{op: opNop})
	})
}
