package timeline

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// What is read of a small trace: lanes by depth, an arrow by its ends, which may come in any order.
func TestRead(t *testing.T) {
	line, err := Read(strings.NewReader(`{"other":{"a":[1]},"traceEvents":[
{"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"workers"}},
{"name":"thread_name","ph":"M","pid":1,"tid":7,"args":{"name":"worker 7"}},
{"name":"inner","ph":"X","cat":"task","ts":1.500,"dur":0.250,"pid":1,"tid":7},
{"name":"outer","ph":"X","cat":"run","ts":1.000,"dur":2.001,"pid":1,"tid":7,"args":{"b":"2","a":"1"}},
{"name":"notify","ph":"f","ts":5,"pid":1,"tid":7,"id":"three"},
{"name":"notify","ph":"s","ts":4,"pid":2,"tid":1,"id":"three"},
{"name":"half way","ph":"i","cat":"mark","ts":2,"pid":1,"tid":7}]}`))
	require.NoError(t, err)
	require.Equal(t, []lane{
		{Process: "workers", Name: "worker 7", Slices: 1, Instants: 1},
		{Process: "workers", Name: "worker 7", Depth: 1, Slices: 1},
		{Name: "thread 1"},
	}, line.lanes)
	outer, inner := line.slices[0], line.slices[1]
	require.Equal(t, []int64{1000, 3001, 1500, 1750}, []int64{outer.since, outer.until, inner.since, inner.until})
	require.Equal(t, "outer", line.strings.list[outer.name])
	require.JSONEq(t, `{"a":"1","b":"2"}`, line.details.list[outer.detail])
	require.Equal(t, []arrow{{from: 4000, to: 5000, start: 2, end: 0}}, line.arrows)
	require.EqualValues(t, 2000, line.instants[0].at)

	var page bytes.Buffer
	require.NoError(t, line.WriteHTML(&page, string(placeForData)))
	require.Contains(t, page.String(), "<h1>"+string(placeForData)+"</h1>", "a title is no place for the data")
}

// Slices that overlap stand on lines of their own.
func TestNestOverlapping(t *testing.T) {
	depths := nest([]slice{{since: 0, until: 10}, {since: 5, until: 15}, {since: 15, until: 20}})
	require.Equal(t, [][]slice{{{since: 0, until: 10}, {since: 15, until: 20}}, {{since: 5, until: 15}}}, depths)
}

// A trace of another program may have any number of classes.
func TestManyClasses(t *testing.T) {
	in := newReader()
	for i := range int64(1000) {
		in.event(event{Phase: "X", Class: fmt.Sprint(i % 100)})
	}
	require.LessOrEqual(t, len(in.classes), mostClasses+1)
}

func TestReadFails(t *testing.T) {
	for _, text := range []string{
		"", "\n\x0a\x05", "[]", "{}", "no JSON", `{"traceEvents":7}`, `{"traceEvents":[{"ts":"soon"}]}`, `{"traceEvents":[{}`,
	} {
		_, err := Read(strings.NewReader(text))
		require.ErrorIs(t, err, ErrFormat, "%q", text)
	}
	broken := errors.New("the disk is broken")
	_, err := Read(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	require.NotErrorIs(t, err, ErrFormat)
}
