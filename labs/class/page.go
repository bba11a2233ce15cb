package class

import (
	"bytes"
	"cmp"
	"embed"
	"html/template"
	"net/url"
	"slices"

	"fiberlab/labs/grade"
)

//go:embed class.html student.html
var pages embed.FS

//go:embed page.css
var pageCSS string

// frame is what all pages have around them. They ask for nothing, and run nothing.
const frame = `{{define "head"}}<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{{.Title}}</title>
<style>{{.CSS}}</style>
</head>
<body>
<main>{{end}}{{define "foot"}}</main>
</body>
</html>
{{end}}`

var pageTemplates = template.Must(template.Must(template.New("frame").Funcs(template.FuncMap{
	"percent": func(share float64) float64 { return 100 * share },
}).Parse(frame)).ParseFS(pages, "*.html"))

// page is the page of the class.
func (b *Book) page() ([]byte, error) {
	type item struct {
		Item
		Percent int
	}
	type row struct {
		Row
		Link string
	}
	mean, median := b.Figures()
	var items []item
	for _, i := range b.Items {
		items = append(items, item{i, percent(i.Failed, b.Examined)})
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(b.Failed, a.Failed) })
	var rows []row
	for _, r := range b.Students {
		rows = append(rows, row{r, (&url.URL{Path: "students/" + r.Student + ".html"}).String()})
	}
	return render("class.html", map[string]any{
		"Title": "Lab " + b.Lab + ": the class", "Book": b, "Mean": mean, "Median": median, "Items": items, "Rows": rows,
		"MostPairs": mostPairs,
	})
}

// percent is how many of a hundred n of them are, to the nearest.
func percent(n, of int) int {
	of = max(of, 1)
	return (200*n + of) / (2 * of)
}

// studentPage is the page of a student. It names no other student.
func (b *Book) studentPage(row Row) ([]byte, error) {
	report := row.report
	if report != nil && report.Build != nil && report.Build.Failed {
		bare := grade.Report{Build: report.Build} // items of which nothing was examined say nothing
		report = &bare
	}
	return render("student.html", map[string]any{
		"Title": "Lab " + b.Lab + ": " + row.Student, "Book": b, "Row": row, "Report": report,
	})
}

func render(name string, values map[string]any) ([]byte, error) {
	values["CSS"] = template.CSS(pageCSS)
	var text bytes.Buffer
	err := pageTemplates.ExecuteTemplate(&text, name, values)
	return text.Bytes(), err
}
