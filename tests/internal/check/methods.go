package check

import (
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// CallEachMethod calls each method of v with zero values. It may return, or panic with an error that
// says what is wrong; a fault of the runtime is none.
func CallEachMethod(t *testing.T, v any, except ...string) {
	methods := reflect.TypeOf(v)
	for i := range methods.NumMethod() {
		m := methods.Method(i)
		if slices.Contains(except, m.Name) {
			continue
		}
		arguments := []reflect.Value{reflect.ValueOf(v)}
		for j := 1; j < m.Type.NumIn(); j++ {
			arguments = append(arguments, reflect.Zero(m.Type.In(j)))
		}
		func() {
			defer func() {
				r := recover()
				_, fault := r.(runtime.Error)
				_, clear := r.(error)
				assert.True(t, r == nil || clear && !fault, "%v.%s panics with: %v", methods, m.Name, r)
			}()
			m.Func.Call(arguments)
		}()
	}
}
