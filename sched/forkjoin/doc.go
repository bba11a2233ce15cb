// Package forkjoin runs tasks that fork others and wait for what comes of them.
package forkjoin

import _ "fiberlab/internal/platform"
