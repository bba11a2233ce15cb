package asm

import (
	"embed"

	_ "fiberlab/internal/platform/system"
)

// Headers are the package's C headers. A package that includes one imports this
// package too, to be linked with it. It is rebuilt when a header changes, because
// the text of the header is part of the imported package.
//
//go:embed *.h
var Headers embed.FS

// Sources are the headers, and all that a program without Go is built from to switch: the assembly of each
// architecture, context.c and check.c.
//
//go:embed *.h swap_*.S context.c check.c
var Sources embed.FS
