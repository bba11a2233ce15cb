package docs

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shownElsewhere are the types without an Example of their own, and why.
var shownElsewhere = map[string]string{
	"bench.Mechanism":      "the package's Example has one",
	"bench.Options":        "ExampleMeasure has them",
	"bench.Process":        "bench/submission starts one",
	"dispatch.Options":     "ExampleContext has them",
	"fibersync.DAGBuilder": "ExampleDAG begins with one",
	"fibersync.Items":      "ExampleBoundedPool has them",
	"fibersync.Loan":       "a pool makes it: ExampleBoundedPool",
	"forkjoin.Config":      "ExamplePool has it",
	"park.Goroutine":       "the package's Example makes one",
	"park.Shared":          "the scheduler makes it",
	"uring.Operation":      "Engine.Do makes one: ExampleEngines",
	"uring.Options":        "ExampleEngines has them",
}

var (
	public = regexp.MustCompile(`^(fiber|stack|bench|sched(/\w+)*)/[^/]+\.go$`)
	makes  = regexp.MustCompile(`^(New|Make|Open|Start)`)
	ready  = regexp.MustCompile(`zero\s+value\s+(is|counts)`)
)

// A type that a user makes, by a function or as its zero value, has an Example with output, or the function has.
func TestEachTypeThatIsMadeHasAnExample(t *testing.T) {
	rooms, set := map[string][]*ast.File{}, token.NewFileSet()
	for _, path := range files(t) {
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		if dir := filepath.Dir(name); public.MatchString(name) && !strings.Contains(dir, "internal") {
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
			require.NoError(t, err)
			rooms[dir] = append(rooms[dir], file)
		}
	}
	made := 0
	for dir, sources := range rooms {
		room, err := doc.NewFromFiles(set, sources, "fiberlab/"+dir)
		require.NoError(t, err)
		for _, kind := range room.Types {
			_, isStruct := kind.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType)
			isMade := isStruct && ready.MatchString(kind.Doc)
			shown := kind.Examples
			for _, function := range kind.Funcs {
				isMade = isMade || makes.MatchString(function.Name)
				shown = append(shown, function.Examples...)
			}
			for _, method := range kind.Methods {
				shown = append(shown, method.Examples...)
			}
			hasOutput := false
			for _, example := range shown {
				hasOutput = hasOutput || example.Output != ""
			}
			if isMade {
				made++
				if name := room.Name + "." + kind.Name; shownElsewhere[name] == "" {
					assert.True(t, hasOutput, "%s has no Example with output", name)
				}
			}
		}
	}
	require.Greater(t, made, 20)
}
