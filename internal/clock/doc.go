// Package clock has the time by which schedulers decide.
package clock

import _ "fiberlab/internal/platform"
