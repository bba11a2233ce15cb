//go:build !linux || !(amd64 || arm64 || riscv64 || ppc64le || s390x || loong64)

package system

const _ int = "fiberlab runs on Linux, on amd64, arm64, riscv64, ppc64le, s390x or loong64: README, Which systems"
