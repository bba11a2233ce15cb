package timeline

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrite(t *testing.T) {
	const trace = `{"traceEvents":[]}`
	var page bytes.Buffer
	require.NoError(t, Write(&page, "{{.Trace}} <b>", []byte(trace)))
	require.Contains(t, page.String(), "<h1>{{.Trace}} &lt;b&gt;</h1>")
	_, rest, _ := strings.Cut(page.String(), `id="trace">`)
	text, _, _ := strings.Cut(rest, "<")
	zipped, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	require.NoError(t, err)
	packed, err := io.ReadAll(zipped)
	require.NoError(t, err)
	require.Equal(t, trace, string(packed))
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
