//go:build linux && (amd64 || arm64 || riscv64 || ppc64le || s390x || loong64) && !cgo

package platform

const _ int = "fiberlab needs cgo: install gcc, set CGO_ENABLED=1 (CC too, to cross)"
