package bench

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAReportComesBackFromJSON(t *testing.T) {
	r := &Report{Schema: Schema, Machine: ThisMachine(), Groups: []Group{{
		Name: "ring", Unit: "ns a switch", Axis: "fibers", Marks: []Mark{{100, "L1 ends"}},
		Rows:    []Row{{Name: "asm", At: 2, Samples: []float64{1, 2}, Median: 1.5}, {Name: "asm", At: 10, Median: 3}},
		Skipped: []Skipped{{"boost", "no header", "apt-get install it"}},
	}}}
	var text bytes.Buffer
	require.NoError(t, r.WriteJSON(&text))
	back, err := ReadReport(text.Bytes(), "memory")
	require.NoError(t, err)
	require.Equal(t, r, back)
	require.Equal(t, 3.0, back.Group("ring").Row("asm", 10).Median)
	require.Nil(t, back.Group("ring").Row("asm", 3))
	require.Nil(t, back.Group("none"))

	_, err = ReadReport([]byte("{}"), "old.json")
	require.ErrorContains(t, err, "old.json has schema 0, and this program reads 1: measure again")
	_, err = ReadReport([]byte("text"), "notes.txt")
	require.ErrorContains(t, err, "notes.txt is no report")
}

func TestTheMachineIsNamed(t *testing.T) {
	m := ThisMachine()
	require.Equal(t, runtime.NumCPU(), m.CPUs)
	require.Contains(t, m.Kernel, "Linux")
	require.Regexp(t, `^(gcc|clang) \d`, m.Compiler)
	require.NotEmpty(t, m.CPU+m.Arch)
}
