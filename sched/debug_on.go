//go:build debug

package sched

// debug builds check every transition and every lock contract.
const debug = true
