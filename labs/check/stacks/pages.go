package stacks

import (
	"fmt"
	"maps"
	"slices"
)

// pages are the pages that the submission has got from mmap, by address, each with its permissions: PROT_READ and so
// on, 0 if it cannot be touched. A page that it has unmapped without having mapped it is gone, too.
type pages map[uint64]uint64

const (
	protExec = 4 // PROT_EXEC

	gone        = ^uint64(0)
	mapShared   = 1
	mapFixed    = 0x10 | 0x100000 // MAP_FIXED, MAP_FIXED_NOREPLACE
	adviseGuard = 102             // MADV_GUARD_INSTALL
	mostPages   = 1 << 20
)

// apply does to the pages what a system call did.
func (p pages) apply(page uint64, c call) {
	first, length := c.args[0]&^(page-1), (c.args[1]+page-1)/page
	if c.failed() || length > mostPages {
		return
	}
	if c.name == "mmap" {
		first = c.result
	}
	for i := range length {
		at := first + i*page
		switch c.name {
		case "mmap":
			p[at] = c.args[2]
		case "mprotect":
			if _, ours := p[at]; ours {
				p[at] = c.args[2]
			}
		case "madvise":
			if _, ours := p[at]; ours && c.args[2] == adviseGuard {
				p[at] = 0
			}
		case "munmap":
			if _, ours := p[at]; ours {
				delete(p, at)
			} else {
				p[at] = gone
			}
		}
	}
}

func (p pages) clone() pages { return maps.Clone(p) }

// except returns the addresses of the pages in p that q does not have, in order.
func (p pages) except(q pages) []uint64 {
	var only []uint64
	for at := range p {
		if _, both := q[at]; !both {
			only = append(only, at)
		}
	}
	slices.Sort(only)
	return only
}

// has reports whether p has all pages of a range of addresses.
func (p pages) has(page, first, length uint64) bool {
	if length > mostPages*page {
		return false
	}
	for at := first &^ (page - 1); at < first+length; at += page {
		if prot, ours := p[at]; !ours || prot == gone {
			return false
		}
	}
	return true
}

// bytes says how many bytes n pages are.
func (w *world) bytes(n int) string {
	return fmt.Sprintf("%d bytes", uint64(n)*w.page)
}
