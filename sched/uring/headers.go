package uring

import (
	"embed"

	_ "fiberlab/internal/platform"
)

// Headers are the package's C headers; an editor of one rebuilds the package with it.
//
//go:embed *.h
var Headers embed.FS
