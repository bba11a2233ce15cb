package stack

// The pool's lists of slabs. All of it runs under the pool's mutex.

// drop unmaps a slab that holds nothing and forgets it. When the kernel refuses
// to unmap it, its pages are released and it stays in the pool.
func (p *Pool) drop(s *slab) error {
	if err := s.unmap(); err != nil {
		s.releaseAll()
		return err
	}
	if p.spare == s {
		p.spare = nil
	}
	p.removeRoom(s)
	for i, other := range p.slabs {
		if other == s {
			last := len(p.slabs) - 1
			p.slabs[i], p.slabs[last] = p.slabs[last], nil
			p.slabs = p.slabs[:last]
			break
		}
	}
	p.stacks -= len(s.stacks)
	return nil
}

// addRoom records that s has a free stack.
func (p *Pool) addRoom(s *slab) {
	if s.roomAt < 0 {
		s.roomAt = len(p.room)
		p.room = append(p.room, s)
	}
}

// removeRoom records that s has no free stack.
func (p *Pool) removeRoom(s *slab) {
	if s.roomAt < 0 {
		return
	}
	last := len(p.room) - 1
	moved := p.room[last]
	p.room[s.roomAt], moved.roomAt = moved, s.roomAt
	p.room[last] = nil
	p.room = p.room[:last]
	s.roomAt = -1
}
