//go:build !debug

package sched

// debug builds, made with -tags debug, check every transition and every lock contract.
const debug = false
