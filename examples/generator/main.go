// Generator compares the leaves of two trees, from left to right, and stops at the first difference. Each tree is
// walked by a recursive function on a fiber of its own, which stops in mid-recursion whenever it has found a leaf.
//
// It prints:
//
//	((1 2) 3) and (1 (2 3)): the same leaves
//	((1 2) 3) and (1 (4 3)): leaf 2 differs: 2 and 4
//	((1 2) 3) and (1 2): leaf 3 is missing
package main

import (
	"fmt"
	"log"

	"fiberlab/fiber"
)

// tree is a leaf with a value, or has two branches.
type tree struct {
	value       int
	left, right *tree
}

func leaf(value int) *tree           { return &tree{value: value} }
func branch(left, right *tree) *tree { return &tree{left: left, right: right} }

func (t *tree) String() string {
	if t.left == nil {
		return fmt.Sprint(t.value)
	}
	return fmt.Sprintf("(%v %v)", t.left, t.right)
}

// generator is a fiber that makes one value after the other, each when it is asked.
type generator struct {
	fiber  *fiber.Fiber
	caller *fiber.Fiber // who waits for the next value
	value  int
}

// leaves generates the values of the leaves of t.
func leaves(t *tree) *generator {
	g := &generator{}
	var err error
	g.fiber, err = fiber.New(fiber.Config{Name: "leaves"}, func() { g.walk(t) })
	check(err)
	return g
}

func (g *generator) walk(t *tree) {
	if t.left == nil {
		g.yield(t.value)
		return
	}
	g.walk(t.left)
	g.walk(t.right)
}

// yield hands a value to the caller of next, and returns when the next one is asked for.
func (g *generator) yield(value int) {
	g.value = value
	check(g.fiber.SwitchTo(g.caller))
}

// next returns the next value; ok is false if there is none.
func (g *generator) next() (value int, ok bool) {
	if g.fiber.State() == fiber.Finished {
		return 0, false
	}
	g.caller = fiber.Current()
	check(g.caller.SwitchTo(g.fiber)) // to walk, which goes on behind its last yield
	return g.value, g.fiber.State() != fiber.Finished
}

// close lets the walk run to its end, since a fiber cannot be closed in mid-function.
func (g *generator) close() {
	for g.fiber.State() != fiber.Finished {
		g.next()
	}
	check(g.fiber.Close())
}

// compare says where the leaves of two trees differ.
func compare(a, b *tree) string {
	left, right := leaves(a), leaves(b)
	defer left.close()
	defer right.close()
	for n := 1; ; n++ {
		x, more := left.next()
		y, moreToo := right.next()
		switch {
		case !more && !moreToo:
			return "the same leaves"
		case more != moreToo:
			return fmt.Sprintf("leaf %d is missing", n)
		case x != y:
			return fmt.Sprintf("leaf %d differs: %d and %d", n, x, y)
		}
	}
}

func main() {
	root, err := fiber.Attach(fiber.Default) // so that main can switch to fibers
	check(err)
	a := branch(branch(leaf(1), leaf(2)), leaf(3))
	for _, b := range []*tree{
		branch(leaf(1), branch(leaf(2), leaf(3))),
		branch(leaf(1), branch(leaf(4), leaf(3))),
		branch(leaf(1), leaf(2)),
	} {
		fmt.Printf("%v and %v: %s\n", a, b, compare(a, b))
	}
	check(root.Detach())
}

// check ends the program if err is an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
