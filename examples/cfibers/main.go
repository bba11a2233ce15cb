// Cfibers has two fibers whose bodies are functions in C: words.c. The reader takes a text apart, and the printer
// prints one word after the other. Each calls fiberlab_switch as if the other one were a function that returns the
// next word.
//
// It prints:
//
//	1 two
//	2 stacks
//	3 in
//	4 one
//	5 thread
//
// The goroutine backend, of which each fiber is a goroutine, runs no functions in C:
//
//	FIBERLAB_BACKEND=goroutine go run ./examples/cfibers
package main

/*
#cgo CFLAGS: -O2 -Wall -Wextra -I${SRCDIR}/../../fiber
#include <stdlib.h>
#include "words.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"log"
	"unsafe"

	"fiberlab/fiber"
)

func main() {
	root, err := fiber.Attach(fiber.Default) // so that main can switch to fibers
	check(err)

	// The fibers keep addresses of it while they are suspended, so it is memory of C.
	words := (*C.struct_words)(C.calloc(1, C.sizeof_struct_words))
	defer C.free(unsafe.Pointer(words))
	words.text = C.CString("two stacks in   one thread")
	defer C.free(unsafe.Pointer(words.text))

	reader, err := fiber.NewC(fiber.Config{Name: "reader"}, C.reader, unsafe.Pointer(words))
	if errors.Is(err, fiber.ErrBackend) {
		fmt.Println(err)
		return
	}
	check(err)
	printer, err := fiber.NewC(fiber.Config{Name: "printer"}, C.printer, unsafe.Pointer(words))
	check(err)

	words.reader = (*C.fiberlab_fiber)(reader.Handle())
	words.printer = (*C.fiberlab_fiber)(printer.Handle())
	check(root.SwitchTo(printer)) // returns when the body of the printer has returned
	check(root.SwitchTo(reader))  // lets the reader return as well
	check(fiber.CloseAll(reader, printer))
	check(root.Detach())
}

// check ends the program if err is an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
