package report

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"

	vector "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The drawing has the colours that page.css uses on white.
var (
	ink      = color.RGBA{0x1a, 0x1d, 0x21, 0xff}
	grid     = color.RGBA{0xe3, 0xe6, 0xea, 0xff}
	dots     = color.NRGBA{0x00, 0x72, 0xb2, 0x73}
	floorInk = color.RGBA{0xc3, 0x4f, 0x00, 0xff}
)

// writeSVG draws a plot of rows as page.js does, for documents that cannot hold a page.
func writeSVG(w io.Writer, title string, p *plot) error {
	drawing := vector.New()
	for _, style := range []*text.Style{
		&drawing.Title.TextStyle, &drawing.X.Label.TextStyle, &drawing.X.Tick.Label, &drawing.Y.Tick.Label,
	} {
		style.Font.Variant = "Sans"
	}
	drawing.Title.Text = title
	drawing.X.Label.Text = p.X
	drawing.X.Label.Padding = vg.Points(5)
	drawing.X.Scale = vector.LogScale{}
	drawing.X.Tick.Marker = vector.TickerFunc(decades)
	drawing.Y.Tick.Length = 0
	drawing.Y.LineStyle.Width = 0
	lines := plotter.NewGrid()
	lines.Horizontal.Width = 0
	lines.Vertical.Color = grid
	drawing.Add(lines)

	names := make([]string, len(p.Rows))
	for i, row := range p.Rows {
		y := float64(len(p.Rows) - 1 - i) // the first row is at the top
		names[int(y)] = row.Name
		few := evenly(row.Samples, 40)
		taken := make(plotter.XYs, len(few))
		for k, v := range few {
			_, part := math.Modf(float64(k) * 0.618) // spreads evenly
			taken[k] = plotter.XY{X: v, Y: y + (part-0.5)*0.5}
		}
		dot := draw.GlyphStyle{Color: dots, Radius: vg.Points(1.3), Shape: draw.CircleGlyph{}}
		drawing.Add(&plotter.Scatter{XYs: taken, GlyphStyle: dot},
			vertical(row.Median, y-0.36, y+0.36, draw.LineStyle{Color: ink, Width: vg.Points(2)}))
		said, err := plotter.NewLabels(plotter.XYLabels{
			XYs: plotter.XYs{{X: few[len(few)-1], Y: y}}, Labels: []string{duration(row.Median)},
		})
		if err != nil {
			return fmt.Errorf("report: drawing %s: %w", row.Name, err)
		}
		said.TextStyle[0].Font.Variant = "Sans"
		said.Offset = vg.Point{X: vg.Points(6), Y: vg.Points(-4)}
		drawing.Add(said)
	}
	drawing.NominalY(names...)
	drawing.Y.Min, drawing.Y.Max = -0.6, float64(len(names))-0.4
	if p.Floor != nil {
		drawing.X.Label.Text += "; dashed: " + p.Floor.Label
		dashed := draw.LineStyle{Color: floorInk, Width: vg.Points(1.2), Dashes: []vg.Length{4, 3}}
		drawing.Add(vertical(p.Floor.At, drawing.Y.Min, drawing.Y.Max, dashed))
	}
	drawing.X.Min, drawing.X.Max = drawing.X.Min*0.8, drawing.X.Max*2.5 // room for the last label

	canvas := vgsvg.New(vg.Points(620), vg.Points(float64(70+24*len(names))))
	drawing.Draw(draw.Crop(draw.New(canvas), vg.Points(10), vg.Points(-10), vg.Points(6), vg.Points(-6)))
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	// A reader who lacks the font gets another one without serifs.
	_, err := w.Write(bytes.ReplaceAll(svg.Bytes(), []byte("Liberation Sans"), []byte("Liberation Sans,Arial,sans-serif")))
	return err
}

func vertical(x, from, to float64, style draw.LineStyle) *plotter.Line {
	return &plotter.Line{XYs: plotter.XYs{{X: x, Y: from}, {X: x, Y: to}}, LineStyle: style}
}

// decades marks the powers of ten on a logarithmic axis.
func decades(low, high float64) (ticks []vector.Tick) {
	for power := math.Ceil(math.Log10(low)); power <= math.Log10(high); power++ {
		ns := math.Pow(10, power)
		ticks = append(ticks, vector.Tick{Value: ns, Label: duration(ns)})
	}
	return ticks
}
