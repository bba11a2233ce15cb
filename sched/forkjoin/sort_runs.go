package forkjoin

// sortedRuns is how many elements are sorted by insertion.
const sortedRuns = 12

// sortRuns sorts list by one strand, keeps the order of equal elements, and leaves the result in buffer or in list. It
// sorts runs of a few elements by insertion, then merges runs to runs twice as long until there is one, from list to
// buffer or back. Buffer is as long as list, or nil if one run is enough.
// If cmp panics, list has the same elements as before.
func sortRuns[E any](list, buffer []E, toBuffer bool, cmp func(a, b E) int) {
	for i := 0; i < len(list); i += sortedRuns {
		insertionSort(list[i:min(i+sortedRuns, len(list))], cmp)
	}
	if buffer == nil {
		return
	}
	from, to, inBuffer := list, buffer, false // from is the buffer
	done := false
	defer func() {
		if !done && inBuffer {
			copy(list, buffer)
		}
	}()
	for width := sortedRuns; width < len(list); width *= 2 {
		for i := 0; i < len(list); i += 2 * width {
			mid, stop := min(i+width, len(list)), min(i+2*width, len(list))
			merge(from[i:mid], from[mid:stop], to[i:stop], cmp)
		}
		from, to, inBuffer = to, from, !inBuffer
	}
	if inBuffer != toBuffer {
		copy(to, from)
	}
	done = true
}

// insertionSort sorts s. If cmp panics, s has the same elements as before.
func insertionSort[E any](s []E, cmp func(a, b E) int) {
	for i := 1; i < len(s); i++ {
		v, j := s[i], i
		for j > 0 && cmp(v, s[j-1]) < 0 {
			j--
		}
		if j < i {
			copy(s[j+1:i+1], s[j:i])
			s[j] = v
		}
	}
}

// merge merges a and b, which are sorted, into to, which is as long as both. Among equal elements, elements of a come
// first. Whatever cmp returns, each element is in to afterwards.
func merge[E any](a, b, to []E, cmp func(a, b E) int) {
	switch {
	case len(a) == 0 || len(b) == 0 || cmp(b[0], a[len(a)-1]) >= 0:
		copy(to[copy(to, a):], b)
	case cmp(b[len(b)-1], a[0]) < 0:
		copy(to[copy(to, b):], a)
	default:
		i, j := 0, 0
		for i < len(a) && j < len(b) {
			if cmp(b[j], a[i]) < 0 {
				to[i+j] = b[j]
				j++
			} else {
				to[i+j] = a[i]
				i++
			}
		}
		copy(to[i+j+copy(to[i+j:], a[i:]):], b[j:])
	}
}
