// Package bitset has sets of small numbers that many threads change at once.
package bitset

import _ "fiberlab/internal/platform"
