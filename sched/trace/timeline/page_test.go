package timeline

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrite(t *testing.T) {
	var page bytes.Buffer
	require.NoError(t, Write(&page, string(placeForTrace), []byte(`{"traceEvents":[]}`)))
	require.Contains(t, page.String(), "<h1>"+string(placeForTrace)+"</h1>", "a title is no place for the trace")
}

func TestWriteFails(t *testing.T) {
	for _, text := range []string{
		"", "\n\x0a\x05", "[]", "{}", "no JSON", `{"traceEvents":7}`, `{"traceEvents":[7]}`, `{"traceEvents":[{}`,
	} {
		var page bytes.Buffer
		require.ErrorIs(t, Write(&page, "", []byte(text)), ErrFormat, "%q", text)
		require.Zero(t, page.Len())
	}
	require.ErrorIs(t, Write(fullDisk{}, "", []byte(`{"traceEvents":[]}`)), errFull)
}

var errFull = errors.New("the disk is full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
