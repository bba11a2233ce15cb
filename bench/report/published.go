package report

// published has figures of other implementations, as their authors give them.
var published = section{
	ID: "published", Title: "Published figures",
	Text: []string{"Others have published these figures, measured on other machines and by other loops. They show the " +
		"order of magnitude, and cannot be divided by any figure above."},
	Head: []string{"what", "figure", "processor", "year", "source"},
	Rows: [][]string{
		{
			"Boost.Context, callcc on fcontext_t", "9 ns, 19 cycles", "two Intel Xeon E5-2620 v4 at 2.2 GHz", "2017",
			"Boost.Context 1.87, manual, Performance; gcc 6.3.1",
		},
		{
			"Boost.Context, callcc on ucontext_t", "547 ns, 1,130 cycles", "two Intel Xeon E5-2620 v4 at 2.2 GHz", "2017",
			"the same page",
		},
		{"minicoro, assembly", "9 cycles", "Intel Core i7-8750H at 2.2 GHz", "2021", "minicoro, README, Benchmarks"},
		{
			"Photon, yield with context-aware switching", "1.52 ns", "two Intel Xeon at 2.2 GHz", "2024",
			"Stackful Coroutine Made Fast, section Yield: less the cost of an empty loop; its own calling convention",
		},
		{"Photon, yield without it", "8.97 ns", "two Intel Xeon at 2.2 GHz", "2024", "the same page"},
	},
}
