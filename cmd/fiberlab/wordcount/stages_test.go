package wordcount

import (
	"io"
	"os"
	"strings"
	"testing"

	"fiberlab/cmd/fiberlab/wordcount/wordcounttest"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// hesitant is a file of which every second read returns nothing and no error, as a reader may.
type hesitant struct {
	io.ReadCloser
	reads int
}

func (h *hesitant) Read(p []byte) (int, error) {
	h.reads++
	if h.reads%2 == 0 {
		return 0, nil
	}
	return h.ReadCloser.Read(p)
}

// A read task fills no buffer whose words are still to be split, however many reads have brought nothing.
func TestReadsThatReturnNothing(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for chunk := range 2 * (chunksAhead + 2) {
		word := string(rune('a'+chunk)) + " "
		text.WriteString(strings.Repeat(word, chunkSize/len(word)))
	}
	wordcounttest.WriteFiles(t, dir, map[string]string{"a": text.String()})
	tr, err := Walk(t.Context(), dir, nil)
	require.NoError(t, err)
	want := expected(t, tr.Files)
	open := func(path string) (io.ReadCloser, error) {
		f, err := os.Open(path)
		return &hesitant{ReadCloser: f}, err
	}
	eachScheduler(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		got, err := Count(t.Context(), tr.Files, Options{Scheduler: cfg, Open: open})
		require.NoError(t, err)
		require.Empty(t, got.Difference(want))
	})
}

// The next chunk comes only when the words that are held back have been sent.
func TestWordsAreNotHeldBackForEver(t *testing.T) {
	eachScheduler(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		p := &pipeline{
			batches: []*fibersync.Channel[*batch]{fibersync.NewChannel[*batch](1), fibersync.NewChannel[*batch](1)},
		}
		l := &lane{chunks: fibersync.NewChannel[chunk](1)}
		words := &batch{text: []byte("words"), ends: []uint32{5}}
		held := []*batch{nil, words}
		var sent *batch
		var next chunk
		var failed error
		s, err := sched.New(cfg)
		require.NoError(t, err)
		for _, f := range []func(){
			func() { next, failed = p.nextChunk(t.Context(), l, held) },
			func() {
				sent, _ = p.batches[1].Receive()
				l.chunks.Send(chunk{file: 4})
			},
		} {
			require.NoError(t, s.Enqueue(sched.Task{Func: f}))
		}
		require.NoError(t, s.Close())
		require.NoError(t, failed)
		require.Same(t, words, sent)
		require.Equal(t, chunk{file: 4}, next)
		require.False(t, holdsAny(held))
	})
}
