package cgo_ucontext

import (
	"embed"

	_ "fiberlab/internal/platform"
)

// Headers are the package's C headers. A package that includes one imports this package
// as well, if only to be linked with it. So Go rebuilds that package when a header
// changes: the headers' text is part of what it imports.
//
//go:embed *.h
var Headers embed.FS
