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
	"swap_amd64.S": "b9e811d0535cbaa2",
	"swap_arm64.S": "16e29ff8b8149bf3",
	"inline.h":     "1c6db889f1ac4a84",
}

var commentOrSpace = regexp.MustCompile(`(?s)(?:/\*.*?\*/|\s)+`)

// Fingerprint stands for a C or assembly text, whatever its comments and its layout are.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(commentOrSpace.ReplaceAllString(text, " "))))
	return hex.EncodeToString(sum[:8])
}

// Recorded reports whether the source at path is the source that this project has recorded under its name.
func Recorded(path string) (bool, error) {
	text, err := os.ReadFile(path)
	return err == nil && recorded[filepath.Base(path)] == Fingerprint(string(text)), err
}
