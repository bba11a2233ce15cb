package asm

import (
	"embed"

	_ "fiberlab/internal/platform"
)

// Headers are the package's C headers. A package that includes one imports this
// package as well, if only to be linked with it, and is rebuilt when a header
// changes, because the text of the header is part of what it imports.
//
//go:embed *.h
var Headers embed.FS
