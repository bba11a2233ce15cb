//go:build !asan

package tests

// addressSanitizer tells whether the tests run under it.
const addressSanitizer = false
