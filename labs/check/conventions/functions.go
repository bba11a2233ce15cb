package conventions

import (
	"fmt"

	"fiberlab/labs/grade"
)

var returnAddress = &call{function: "lab_return_address", prepare: func(*visit) error { return nil }}

var returnAddressRight = judge{end: func(v *visit) []grade.Fault { return v.result(v.back, "its own return address") }}

var stackAfter = &call{function: "lab_stack_after_return", prepare: func(*visit) error { return nil }}

var stackAfterRight = judge{end: func(v *visit) []grade.Fault {
	return v.result(v.sp, "the caller's stack pointer")
}}

var tenth = &call{function: "lab_tenth", prepare: func(v *visit) error {
	for i := range 10 {
		w := v.word(fmt.Sprintf("argument %d", i+1))
		if i < len(v.Arch().Arguments) {
			v.args = append(v.args, w)
		} else {
			v.stack = append(v.stack, w)
		}
	}
	return nil
}}

var tenthRight = judge{end: func(v *visit) []grade.Fault {
	last := len(v.stack) - 1
	return v.result(
		v.stack[last], fmt.Sprintf("argument 10, which lies %d bytes above the caller's stack pointer", 8*last),
	)
}}

// sumOver has the function sum over count values. Of very many it is enough to see the first few.
func sumOver(count uint64) *call {
	c := &call{function: "lab_sum_over", meetings: int(min(count, 4)), loops: true}
	if count > 4 {
		c.meetings, c.enough = 3, 3
	}
	c.prepare = func(v *visit) error {
		v.args = []uint64{
			v.stranger,
			v.add("values", c.meetings+1, false, func(i int) string { return fmt.Sprintf("values[%d]", i) }), count,
		}
		return nil
	}
	return c
}

var sumRight = judge{
	calls: func(v *visit) []grade.Fault {
		for n, m := range v.met {
			if n < v.meetings {
				if faults := v.argument(n, m, 0, v.data[0].word(n), fmt.Sprintf("values[%d]", n)); len(faults) > 0 {
					return faults
				}
			}
		}
		return nil
	},
	end: func(v *visit) []grade.Fault {
		var sum uint64
		a := v.Arch()
		for _, m := range v.met {
			sum += m.left.Get(a.Result)
		}
		got := v.after.Get(a.Result)
		if got == sum {
			return v.constant()
		}
		text := v.describe(got)
		if origin, known := v.origins[got-sum]; known {
			text = "the sum of the results and " + origin
		} else if n := len(v.met); n > 0 {
			if origin, known := v.origins[got-v.met[n-1].left.Get(a.Result)]; known {
				text = "the last result and " + origin
			}
		}
		return append(v.constant(), grade.Fault{
			Text: fmt.Sprintf(
				"lab_sum_over returns %s, not the sum of all %s: %s", text, many(len(v.met), "result", "results"),
				v.trail(a.Result, len(v.steps), 2),
			),
			Place: v.set(a.Result, len(v.steps)),
		})
	},
}

// argument examines an argument of call n of the stranger.
func (v *visit) argument(n int, m meeting, i int, wanted uint64, what string) []grade.Fault {
	if i >= len(v.Arch().Arguments) {
		k := i - len(v.Arch().Arguments)
		if k >= len(m.gifts) || m.gifts[k] == wanted {
			return nil
		}
		sp := m.regs.SP() + uint64(8*k)
		if v.Arch().Link == "" {
			sp += 8
		}
		text, place := v.by(sp)
		more, where := v.loaded(wanted)
		if place.File == "" {
			place = where
		}
		text += more
		return []grade.Fault{{
			Text: fmt.Sprintf(
				"%s calls the stranger with %s as argument %d, %d bytes above the stack pointer at the call: it "+
					"should be %s: %s",
				v.function, v.describe(m.gifts[k]), i+1, 8*k, what, text,
			),
			Place: place}}
	}
	register := v.Arch().Arguments[i]
	got := m.regs.Get(register)
	if got == wanted {
		return nil
	}
	return []grade.Fault{{
		Text: fmt.Sprintf("%s makes call %d of the stranger with %s as argument %d, in %s: it should be %s: %s",
			v.function, n+1, v.describe(got), i+1, register, what, v.trail(register, m.at, 2)),
		Place: v.set(register, m.at),
	}}
}

var callTen = &call{function: "lab_call_ten", meetings: 1, prepare: func(v *visit) error {
	v.gifts = 8 * (10 - len(v.Arch().Arguments))
	v.args = []uint64{
		v.stranger, v.add("values", 10, false, func(i int) string { return fmt.Sprintf("values[%d]", i) }),
	}
	return nil
}}

var tenRight = judge{
	calls: func(v *visit) []grade.Fault {
		var faults []grade.Fault
		for n, m := range v.met[:min(1, len(v.met))] {
			for i := range 10 {
				faults = append(faults, v.argument(n, m, i, v.data[0].word(i), fmt.Sprintf("values[%d]", i))...)
			}
		}
		return faults
	},
	end: func(v *visit) []grade.Fault {
		if len(v.met) == 0 {
			return nil
		}
		return append(v.constant(), v.result(v.met[0].left.Get(v.Arch().Result), "the result of the stranger")...)
	},
}

var keep = &call{function: "lab_keep_16", meetings: 1,
	prepare: func(v *visit) error {
		v.args = []uint64{v.stranger, v.add("the 16 bytes", 2, true, func(i int) string {
			return []string{"the first 8 of the 16 bytes", "the last 8 of the 16 bytes"}[i]
		})}
		return nil
	},
	meet: func(v *visit, _ int) error {
		return v.overwrite(v.data[0].address, v.data[0].address+16, "what the stranger put there")
	}}

var keepRight = judge{end: func(v *visit) []grade.Fault {
	if len(v.met) == 0 {
		return nil
	}
	was, now := v.data[0], v.left[0]
	for i := range 2 {
		if now.word(i) != was.word(i) {
			text, place := v.by(was.address + 8*uint64(i))
			for _, value := range []uint64{was.word(i), now.word(i)} {
				more, where := v.loaded(value)
				if text += more; place.File == "" {
					place = where
				}
			}
			return []grade.Fault{
				{
					Text: fmt.Sprintf(
						"lab_keep_16 leaves %s in place of %s: %s", v.describe(now.word(i)), was.words(i), text,
					),
					Place: place,
				},
			}
		}
	}
	return nil
}}

var observe = &call{function: "lab_observe", meetings: 1, lawless: true, prepare: func(v *visit) error {
	words := registerWords(v.Arch())
	v.args = []uint64{v.stranger,
		v.add("before", len(words), false, func(i int) string { return "what before has for " + words[i].register }),
		v.add("after", len(words), true, func(i int) string { return "what was there before" })}
	return nil
}}

var observeRight = judge{
	calls: func(v *visit) []grade.Fault {
		var faults []grade.Fault
		for _, m := range v.met[:min(1, len(v.met))] {
			for i, w := range registerWords(v.Arch()) {
				if got := m.regs.Get(w.register); !w.high && got != v.data[0].word(i) {
					faults = append(faults, grade.Fault{
						Text: fmt.Sprintf(
							"lab_observe calls the stranger with %s in %s, "+
								"in place of what before has at offset %d: %s",
							v.describe(got), w.register, 8*i, v.trail(w.register, m.at, 1),
						),
						Place: v.set(w.register, m.at),
					})
				}
			}
		}
		return faults
	},
	end: func(v *visit) []grade.Fault {
		if len(v.met) == 0 {
			return nil
		}
		faults := v.constant()
		after := v.left[1]
		for i, w := range registerWords(v.Arch()) {
			wanted := uint64(0) // what the stranger leaves in high halves
			if !w.high {
				wanted = v.met[0].left.Get(w.register)
			}
			if after.word(i) != wanted {
				text, place := v.by(after.address + 8*uint64(i))
				faults = append(faults, grade.Fault{
					Text: fmt.Sprintf(
						"lab_observe leaves in after, at offset %d (%s), %s: %s", 8*i, w.name(),
						v.describe(after.word(i)), text,
					),
					Place: place,
				})
			}
		}
		return faults
	},
}
