package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// goSources returns the directory of the Go standard library's sources. It asks the go command on PATH.
func goSources(ctx context.Context) (string, error) {
	const remedy = "install Go, or name a directory: fiberlab run DIR"
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("the standard library's sources: no go command on PATH; %s", remedy)
	}
	if err != nil {
		return "", fmt.Errorf("the standard library's sources: go env GOROOT: %w; %s", err, remedy)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "src")
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("the standard library's sources: %w; %s", err, remedy)
	}
	return dir, nil
}
