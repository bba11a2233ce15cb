package uring

// #include "ring.h"
import "C"

import "unsafe"

// Both arrays are structs of C that Go sees as its own: a difference in size or place does not compile.
const (
	_ = -(unsafe.Sizeof(entry{}) ^ unsafe.Sizeof(C.struct_fiberlab_request{}))
	_ = -(unsafe.Offsetof(entry{}.how) ^ unsafe.Offsetof(C.struct_fiberlab_request{}.how))
	_ = -(unsafe.Offsetof(entry{}.op) ^ unsafe.Offsetof(C.struct_fiberlab_request{}.op))
	_ = -(unsafe.Offsetof(entry{}.fd) ^ unsafe.Offsetof(C.struct_fiberlab_request{}.fd))
	_ = -(unsafe.Offsetof(entry{}.group) ^ unsafe.Offsetof(C.struct_fiberlab_request{}.group))
	_ = -(unsafe.Sizeof(completion{}) ^ unsafe.Sizeof(C.struct_fiberlab_done{}))
	_ = -(unsafe.Offsetof(completion{}.flags) ^ unsafe.Offsetof(C.struct_fiberlab_done{}.flags))
)
