// Package debug reports whether this is a debug build: one made with -tags debug.
package debug

import _ "fiberlab/internal/platform"
