package trace_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protowire"
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

// Chromium contains Perfetto's trace_processor, and with it Perfetto's own description of the messages of events: the
// schema above agrees with that.
func TestPerfettoSchema(t *testing.T) {
	f, err := os.Open("/usr/lib/chromium/chromium")
	if err != nil {
		t.Skip("Perfetto's schema is taken from Chromium: scripts/need browser installs it")
	}
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	binary, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
	require.NoError(t, err)
	defer unix.Munmap(binary)
	files := map[string]string{"TrackEvent": "track_event.proto", "DebugAnnotation": "debug_annotation.proto"}
	for name, file := range files {
		own := describedIn(t, binary, "protos/perfetto/trace/track_event/"+file)
		i := slices.IndexFunc(own.MessageType, func(m *descriptorpb.DescriptorProto) bool { return m.GetName() == name })
		require.GreaterOrEqual(t, i, 0, name)
		fields := map[string]field{}
		for _, f := range own.MessageType[i].Field {
			kind := strings.ToLower(strings.TrimPrefix(f.GetType().String(), "TYPE_"))
			switch kind {
			case "enum":
				kind = "int32" // as which it is encoded
			case "message":
				kind = strings.TrimPrefix(f.GetTypeName(), ".perfetto.protos.")
			}
			list := f.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_REPEATED
			fields[f.GetName()] = field{f.GetName(), f.GetNumber(), kind, list}
		}
		for _, f := range schema[name] {
			require.Equal(t, fields[f.name], f)
		}
	}
}

// describedIn returns the description of a file of Perfetto's schema from a program that contains it: in a list of such
// descriptions, after its length. It begins with the names of the file and of the package.
func describedIn(t *testing.T, binary []byte, file string) *descriptorpb.FileDescriptorProto {
	head := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), file)
	head = protowire.AppendString(protowire.AppendTag(head, 2, protowire.BytesType), "perfetto.protos")
	at := bytes.Index(binary, head)
	require.Greater(t, at, 4, "%s is not described", file)
	for before := 1; before <= 4; before++ {
		size, n := protowire.ConsumeVarint(binary[at-before : at])
		if n == before && binary[at-before-1] == '\n' && at+int(size) <= len(binary) {
			var own descriptorpb.FileDescriptorProto
			require.NoError(t, proto.Unmarshal(binary[at:at+int(size)], &own))
			return &own
		}
	}
	require.Fail(t, "no length", file)
	return nil
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

// A trace in protocol buffers has what trace_processor demands. It has a sequence, and a clock that trace_processor
// knows. Tracks are described before their events, ends match the beginnings, and arrows have two ends.
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
		begun, ends, instants := 0, 0, 0
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
				begun++
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
		require.Equal(t, begun, ends)
		require.Equal(t, flows, ended)
		require.NotContains(t, flows, uint64(0))
		workers := map[string]uint64{"worker 0": 1<<32 | 1, "worker 1": 1<<32 | 2}
		maps.DeleteFunc(workers, func(name string, track uint64) bool { return tracks[track] == name })
		require.Less(t, len(workers), 2, "no worker that ran anything has its track: %v", tracks)

		// It has as many of each as the same trace in JSON.
		var same struct{ TraceEvents []struct{ Ph string } }
		require.NoError(t, json.Unmarshal(document, &same))
		want := map[string]int{}
		for _, e := range same.TraceEvents {
			want[e.Ph]++
		}
		require.Equal(t, want["X"], begun)
		require.Equal(t, want["s"], len(flows))
		require.Equal(t, want["i"]+2*want["s"], instants)
	}
	require.ErrorIs(t, trace.NewRecorder(0).WritePerfetto(fullDisk{}), errFull)
}
