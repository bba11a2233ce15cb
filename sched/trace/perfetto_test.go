package trace_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/trace"
)

// schema is the part of Perfetto's schema that traces use: by message, the fields with their numbers and types.
var schema = map[string][]field{
	"Trace": {{"packet", 1, "TracePacket", true}},
	"TracePacket": {
		{"timestamp", 8, "uint64", false}, {"trusted_packet_sequence_id", 10, "uint32", false},
		{"track_event", 11, "TrackEvent", false}, {"sequence_flags", 13, "uint32", false},
		{"timestamp_clock_id", 58, "uint32", false}, {"track_descriptor", 60, "TrackDescriptor", false},
	},
	"TrackDescriptor": {
		{"uuid", 1, "uint64", false}, {"name", 2, "string", false}, {"parent_uuid", 5, "uint64", false},
	},
	"TrackEvent": {
		{"debug_annotations", 4, "DebugAnnotation", true}, {"type", 9, "int32", false},
		{"track_uuid", 11, "uint64", false}, {"categories", 22, "string", true}, {"name", 23, "string", false},
		{"flow_ids", 47, "fixed64", true}, {"terminating_flow_ids", 48, "fixed64", true},
	},
	"DebugAnnotation": {{"string_value", 6, "string", false}, {"name", 10, "string", false}},
}

type field struct {
	name   string
	number int32
	kind   string
	list   bool
}

// perfettoTrace is the descriptor of a whole trace.
func perfettoTrace(t *testing.T) protoreflect.MessageDescriptor {
	kinds := map[string]descriptorpb.FieldDescriptorProto_Type{
		"uint64": descriptorpb.FieldDescriptorProto_TYPE_UINT64, "uint32": descriptorpb.FieldDescriptorProto_TYPE_UINT32,
		"int32": descriptorpb.FieldDescriptorProto_TYPE_INT32, "string": descriptorpb.FieldDescriptorProto_TYPE_STRING,
		"fixed64": descriptorpb.FieldDescriptorProto_TYPE_FIXED64,
	}
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("perfetto.proto"), Syntax: proto.String("proto2")}
	for name, fields := range schema {
		m := &descriptorpb.DescriptorProto{Name: proto.String(name)}
		for _, f := range fields {
			d := &descriptorpb.FieldDescriptorProto{
				Name: proto.String(f.name), Number: proto.Int32(f.number),
				Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			}
			if f.list {
				d.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			}
			if kind, plain := kinds[f.kind]; plain {
				d.Type = kind.Enum()
			} else {
				d.Type, d.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String("."+f.kind)
			}
			m.Field = append(m.Field, d)
		}
		file.MessageType = append(file.MessageType, m)
	}
	made, err := protodesc.NewFile(file, nil)
	require.NoError(t, err)
	return made.Messages().ByName("Trace")
}

// message reads fields by their names.
type message struct{ protoreflect.Message }

func (m message) value(name string) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}
func (m message) has(name string) bool {
	return m.Has(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}
func (m message) of(name string) message { return message{m.value(name).Message()} }

// A trace in protocol buffers has what trace_processor demands of one: a sequence, a clock that it knows, tracks that
// are described before their events, ends that match the beginnings, and arrows with two ends.
func TestWritePerfetto(t *testing.T) {
	for _, p := range sched.Policies() {
		r := trace.NewRecorder(1 << 14)
		document := recorded(t, fiber.Backends()[0], p, r)
		var file bytes.Buffer
		require.NoError(t, r.WritePerfetto(&file))
		decoded := dynamicpb.NewMessage(perfettoTrace(t))
		require.NoError(t, proto.Unmarshal(file.Bytes(), decoded))

		tracks, flows, ended := map[uint64]string{}, map[uint64]int{}, map[uint64]int{}
		open, last := map[uint64]int{}, map[uint64]uint64{}
		slices, ends, instants := 0, 0, 0
		packets := message{decoded}.value("packet").List()
		for i := range packets.Len() {
			packet := message{packets.Get(i).Message()}
			require.Empty(t, packet.GetUnknown())
			require.EqualValues(t, 1, packet.value("trusted_packet_sequence_id").Uint())
			require.Equal(t, i == 0, packet.has("sequence_flags"), "the first one begins the sequence")
			if packet.has("track_descriptor") {
				d := packet.of("track_descriptor")
				require.Empty(t, d.GetUnknown())
				uuid := d.value("uuid").Uint()
				require.NotZero(t, uuid)
				require.NotContains(t, tracks, uuid)
				tracks[uuid] = d.value("name").String()
				if d.has("parent_uuid") {
					require.Contains(t, tracks, d.value("parent_uuid").Uint())
				}
				continue
			}
			require.EqualValues(t, 6, packet.value("timestamp_clock_id").Uint())
			e := packet.of("track_event")
			require.Empty(t, e.GetUnknown())
			track, at := e.value("track_uuid").Uint(), packet.value("timestamp").Uint()
			require.Contains(t, tracks, track)
			switch e.value("type").Int() {
			case 1:
				slices++
				open[track]++
				last[track] = at
				require.NotEmpty(t, e.value("name").String())
			case 2:
				ends++
				open[track]--
				require.Zero(t, open[track])
				require.GreaterOrEqual(t, at, last[track])
			case 3:
				instants++
			default:
				require.Fail(t, "type", "%v", e)
			}
			for j := range e.value("flow_ids").List().Len() {
				flows[e.value("flow_ids").List().Get(j).Uint()]++
			}
			for j := range e.value("terminating_flow_ids").List().Len() {
				ended[e.value("terminating_flow_ids").List().Get(j).Uint()]++
			}
			notes := e.value("debug_annotations").List()
			for j := range notes.Len() {
				require.NotEmpty(t, message{notes.Get(j).Message()}.value("string_value").String())
			}
		}
		require.Equal(t, slices, ends)
		require.Equal(t, flows, ended)
		require.NotContains(t, flows, uint64(0))
		require.Contains(t, tracks, uint64(1)<<32|1)

		// It has as many of each as the same trace in JSON.
		var same struct{ TraceEvents []struct{ Ph string } }
		require.NoError(t, json.Unmarshal(document, &same))
		want := map[string]int{}
		for _, e := range same.TraceEvents {
			want[e.Ph]++
		}
		require.Equal(t, want["X"], slices)
		require.Equal(t, want["s"], len(flows))
		require.Equal(t, want["i"]+2*want["s"], instants)
	}
	require.ErrorIs(t, trace.NewRecorder(0).WritePerfetto(fullDisk{}), errFull)
}
