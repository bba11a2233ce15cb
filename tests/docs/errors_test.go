package docs

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// completed are the values that are never returned as they are:
// what wraps them says what is wrong with what, and what helps.
var completed = map[string]bool{
	"fiber.ErrBackend": true, "fiber.ErrUnsupported": true, "fiber.ErrStackSize": true,
	"stack.ErrSize": true, "stack.ErrGuard": true, "stack.ErrExhausted": true, "stack.ErrForeign": true,
	"stack.ErrNotInUse": true, "stack.ErrInUse": true,
	"sched.ErrAffinity": true, "sched.ErrPolicy": true, "report.ErrDeadlock": true, "report.ErrStalled": true,
	"uring.ErrDriver": true, "uring.ErrUnavailable": true,
}

// facts are the values that report an event to a caller who has done nothing wrong.
var facts = map[string]bool{"park.ErrDeadline": true, "fibersync.ErrUnfinished": true}

// README.md promises that an error names its remedy: it stands behind the last colon.
func TestErrorsNameTheirRemedies(t *testing.T) {
	found := 0
	for _, dir := range []string{
		"fiber", "stack", "sched", "sched/park", "sched/report", "sched/fibersync", "sched/forkjoin", "sched/uring",
		"sched/uring/fiberio", "sched/uring/dispatch",
	} {
		for _, value := range errorValues(t, filepath.Join(root, dir)) {
			found++
			if !completed[value.name] && !facts[value.name] {
				text := strings.TrimPrefix(strings.TrimPrefix(value.text, "sched/uring: "), "stack: ")
				assert.Contains(t, text, ": ", "%s names no remedy", value.name)
			}
		}
	}
	require.Greater(t, found, 60)
}

type errorValue struct{ name, text string }

// errorValues returns the exported error values that a package makes, with their texts.
func errorValues(t *testing.T, dir string) (values []errorValue) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, declaration := range file.Decls {
			group, is := declaration.(*ast.GenDecl)
			if !is || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				spec := spec.(*ast.ValueSpec)
				if len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Err") {
					continue
				}
				call, is := spec.Values[0].(*ast.CallExpr)
				if !is {
					continue // another package's value
				}
				text, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(call.Args[len(call.Args)-1]))
				require.NoError(t, err, "%s: the text of %s", name, spec.Names[0])
				values = append(values, errorValue{file.Name.Name + "." + spec.Names[0].Name, constant.StringVal(text.Value)})
			}
		}
	}
	return values
}
