// Package files copies and searches files: by fibers with engines of package uring, or by goroutines with package os. It is what fiberlab cp and fiberlab grep do.
//
// [Setup] says which of the two (crew.go). [Copy] copies a file or a tree (copy.go, tree.go), [Grep] finds lines (grep.go, lines.go).
package files

import _ "fiberlab/internal/platform"
