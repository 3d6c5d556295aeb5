package operations

import (
	"debug/buildinfo"
	"strings"
	"testing"

	"users-api/tests/program"
)

// BSD, MIT and Apache licences ask that their text goes wherever the program goes.
func TestTheLicenseOfEverythingLinkedInIsPrinted(t *testing.T) {
	t.Parallel()
	done := program.RunCommand(t, t.TempDir(), nil, "licenses")
	if done.Code != 0 || done.Stderr != "" {
		t.Fatalf("it ended with %d and %q", done.Code, done.Stderr)
	}
	info, err := buildinfo.ReadFile(program.Path())
	if err != nil || len(info.Deps) < 50 {
		t.Fatalf("the program does not say what is linked in: %v, %v", info, err)
	}
	parts := map[string]string{}
	for _, part := range strings.Split(done.Stdout, "\n"+strings.Repeat("=", 80)+"\n")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		parts[name] = text
	}
	expect := func(name string) {
		if text := strings.ToLower(parts[name]); !strings.Contains(text, "copyright") && !strings.Contains(text, "public domain") {
			t.Errorf("%s has no licence (make licenses writes them): %.200s", name, text)
		}
	}
	for _, module := range info.Deps {
		expect(module.Path + " " + module.Version)
	}
	expect("Go")
	expect("swagger-ui-dist 5.35.0")
}
