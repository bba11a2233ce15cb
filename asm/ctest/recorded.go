package ctest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// recorded are the fingerprints of the sources as this project has them. Of these it is known which faults the tests
// notice, so there the tests demand it. Of any other source, which may be as right, they only report it.
var recorded = map[string]string{
	"swap_amd64.S": "3c95860eb1c80a8b",
	"swap_arm64.S": "77c3f8dc08e8cfd6",
	"inline.h":     "544842fa7044817d",
}

var commentOrSpace = regexp.MustCompile(`(?s)(?:/\*.*?\*/|\s)+`)

// Fingerprint stands for a C or assembly text, whatever its comments and its layout are.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(commentOrSpace.ReplaceAllString(text, " "))))
	return hex.EncodeToString(sum[:8])
}

// Recorded tells whether the source at path is the one that this project has recorded under its name.
func Recorded(path string) (bool, error) {
	text, err := os.ReadFile(path)
	return err == nil && recorded[filepath.Base(path)] == Fingerprint(string(text)), err
}
