package explored

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/grade"
)

// Words by which a source hides from the compiler's marks are refused, but not in strings.
func TestLook(t *testing.T) {
	for _, c := range []struct{ line, found string }{
		{`void f(void) { __asm__("nop"); }`, "__asm__"},
		{"__attribute__((constructor)) void f(void) {}", "constructor"},
		{"__attribute__((no_sanitize_thread)) void f(void) {}", "no_sanitize_thread"},
		{"void f(int *n) { __builtin_ia32_movnti(n, 1); }", "__builtin_ia32_movnti"},
		{"void f(int *n) { _mm_stream_si32(n, 1); }", "_mm_stream_si32"},
		{"#pragma GCC optimize (3)", "#pragma GCC optimize"},
		{`__attribute__((__optimize__(3))) void f(void) {}`, "__optimize__"},
		{"int f(int *p) { return *(int __attribute__((address_space(257))) *)p; }", "address_space"},
		{"void f(int *p, int32x4x2_t v) { vst2q_s32(p, v); }", "vst2q_s32"},
	} {
		require.ErrorContains(t, look("scheduler.c", c.line+"\n"), "uses "+c.found+":", c.line)
	}
	require.NoError(t, look("scheduler.c", `const char *text = "asm constructor"; int mm, alias_of;`+"\n"))
}

// So are marks of the preprocessor: by these, a line would count as a line of a system header.
func TestUnmarked(t *testing.T) {
	dir := t.TempDir()
	for text, refused := range map[string]bool{
		"# 1 \"/usr/include/stdio.h\" 1 3\nint a;\n":            true,
		"#line 7 \"other.c\"\nint a;\n":                         true,
		"#define line 7\nint a;\n":                              false,
		"/* Steps:\n   #1 lock */\nint a;\n":                    false,
		"int *a; /* as in\n#2 */ int b;\n":                      false,
		"/* a\n*/ #line 7 \"b\"\n":                              true,
		"char a[] = \"/*\";\n#line 7 \"b\"\nchar c[] = \"*/\";": true, // from here on no comment has the directive
		"// /*\n#line 7 \"b\"\n/**/":                            true,
		"#define A ' /*\n#line 7 \"b\"\n/**/":                   true,
		"#if __has_include(</*>)\n#endif\n#line 7\n/**/":        true,
		"char a = '\"'; /*\n/*/\n#line 7 \"b\"\n/**/":           true,
		"char a = '\"'; /*\n*/* a;\n#line 7 \"b\"\n/**/":        true,
		"#??/ \r\nline 7 \"b\"\n":                               true,
		"int a;\r#line 7 \"b\"\r":                               true,
		"#\x00line 7 \"b\"\n":                                   true,
		"/**/\n#line 7 \"b\"\n/**/":                             true,
		"int a; /**/\n#line 7 \"b\"\n/**/":                      true,
		"#warning /*\n#line 7 \"b\"\n/**/":                      true,
		"#pragma mark /*\n#line 7 \"b\"\n/**/":                  true,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.c"), []byte(text), 0o600))
		err := unmarked(&grade.Submission{Dir: dir, Names: []string{"a.c"}})
		require.Equal(t, refused, err != nil, text)
	}
}
