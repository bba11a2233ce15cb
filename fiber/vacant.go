package fiber

/*
#include "core.h"
*/
import "C"

// vacantBelow returns the address below which nothing on the stack of c, whose fiber is
// closed, is needed any more. A C body leaves nothing behind. The goroutine of a Go body
// comes back to where it waits for the next one.
func (c *carrier) vacantBelow() uintptr {
	if c.kind.body == cBody {
		return c.stack.Hi()
	}
	return uintptr(C.fiberlab_block_sp(c.block))
}

// whileVacant runs clear, by which somebody wants the pages of c's stack to be given back, if
// no frame lies there that is still needed. Meanwhile c cannot be entered.
func (c *carrier) whileVacant(clear func() error) error {
	word := c.state.Load()
	state := State(word & stateMask)
	never := state == Ready && !c.entered.Load()
	over := state == Finished && c.kind.body == cBody
	if !never && !over || !c.state.CompareAndSwap(word, word&^stateMask|uint64(Running)) {
		return &Error{"clear", c.fiber.Load().Name(), ErrStackInUse}
	}
	defer c.state.Store(word)
	if err := clear(); err != nil || over {
		return err
	}
	return c.aim() // swapcontext has its first frame there
}
