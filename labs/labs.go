// Package labs holds the files of the labs' folders that the grader needs. With the references of the swap, fiberlab
// step has something to show anywhere. The given files are here so that a submission cannot change them.
//
// The labs are in the folders named by two digits; docs/ says how they are used. The grader is in the packages below.
package labs

import (
	"embed"
	"path/filepath"

	_ "fiberlab/internal/platform/system" // ends a build for another system with one line
)

// References are the folders NN/reference of the labs about the swap. What is given they leave out.
//
//go:embed 02/reference 03/reference
var References embed.FS

// Scenarios are the folders NN/tests of the labs that the explorer examines.
//
//go:embed [0-9][0-9]/tests
var Scenarios embed.FS

// Sources are the sources that are handed out in the folders NN, and in swap those that several labs give. grade.Lab
// says which of them are given.
//
//go:embed [0-9][0-9]/*.[chS] swap
var Sources embed.FS

// InSwap reports whether a file is in a folder named swap, as those that several labs give. A relative name without a
// folder is not.
func InSwap(file string) bool { return filepath.Base(filepath.Dir(file)) == "swap" }
