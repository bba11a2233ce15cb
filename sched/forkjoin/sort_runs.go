package forkjoin

// sortRuns is sort for one strand. It sorts runs of a few elements by insertion, then merges runs to runs twice as long until there is
// one.
func (s *sorter[E]) sortRuns(begin, end int, toBuffer bool) (done bool) {
	if !s.goesOn() {
		return false
	}
	from := s.list[begin:end]
	defer s.unless(&done)
	for i := 0; i < len(from); i += sortedRuns {
		insertionSort(from[i:min(i+sortedRuns, len(from))], s.cmp)
	}
	if len(s.buffer) == 0 {
		return true
	}
	to, inBuffer := s.buffer[begin:end], false // from is in buffer
	defer func() {
		if !done && inBuffer {
			copy(to, from)
		}
	}()
	for width := sortedRuns; width < len(from); width *= 2 {
		for i := 0; i < len(from); i += 2 * width {
			mid, stop := min(i+width, len(from)), min(i+2*width, len(from))
			merge(from[i:mid], from[mid:stop], to[i:stop], s.cmp)
		}
		from, to, inBuffer = to, from, !inBuffer
	}
	if inBuffer != toBuffer {
		copy(to, from)
	}
	return true
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

// merge merges a and b, which are sorted, into to, which is as long as both. Of equal elements those of a come first. Whatever cmp
// returns, each element is in to afterwards.
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
