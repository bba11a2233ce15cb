package sandbox

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Library writes to path one relocatable object of objects, of what they and used use of the C library, and of what
// begins a program. objects and used are paths of objects; the objects of used stay out. Most of a link is the search
// in the C library. Programs that differ in few objects are linked with -nostdlib and this one, and share the search.
//
// compiler is the command of the compiler. It runs unconfined: the objects must be the project's own. It may call
// itself some ten times. If ctx ends, it returns an error.
func Library(ctx context.Context, compiler []string, path string, objects, used []string) error {
	run := func(words ...string) (string, error) {
		c := exec.CommandContext(ctx, compiler[0], slices.Concat(compiler[1:], words)...)
		c.Env = append(os.Environ(), "LC_ALL=C")
		out, err := c.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	words := []string{"-r", "-nostdlib", "-o", path}
	for _, object := range used {
		names, err := undefined(object)
		if err != nil {
			return err
		}
		for _, name := range names {
			words = append(words, "-Wl,-u,"+name)
		}
	}
	words = append(words, objects...)
	for _, part := range []string{
		"crt1.o", "crti.o", "crtbeginT.o", "-Wl,--start-group", "libgcc.a", "libgcc_eh.a", "libc.a",
		"-Wl,--end-group", "crtend.o", "crtn.o",
	} {
		if !strings.HasPrefix(part, "-") {
			found, err := run("-print-file-name=" + part)
			if err != nil {
				return fmt.Errorf("find %s: %w: %s", part, err, found)
			}
			part = found
		}
		words = append(words, part)
	}
	if said, err := run(words...); err != nil {
		return fmt.Errorf("join %s with the C library: %w: %s", filepath.Base(path), err, said)
	}
	return nil
}

// undefined returns the names that an object uses and does not define.
func undefined(object string) (names []string, err error) {
	err = symbolsOf(object, func(s elf.Symbol) error {
		if s.Section == elf.SHN_UNDEF && s.Name != "" {
			names = append(names, s.Name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the symbols of %s: %w", object, err)
	}
	return names, nil
}
