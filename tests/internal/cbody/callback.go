package cbody

// #include <stdint.h>
import "C"

import "runtime/cgo"

//export cbodyGo
func cbodyGo(callback C.uintptr_t) { cgo.Handle(callback).Value().(func())() }
