//go:build !linux || !(amd64 || arm64)

package system

const _ int = "fiberlab runs on Linux, on amd64 or arm64: README, Which systems"
