//go:build asan

package tests

const addressSanitizer = true
