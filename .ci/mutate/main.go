// Command mutate changes the program one small thing at a time and runs the tests, to see which changes they do not
// notice. Every place is changed in one copy of the repository, and asks at run time whether it is the one: so each
// test is compiled once.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var folders = []string{"config", "controllers", "database", "models", "routes", "scim"}

func main() {
	out := flag.String("out", "/tmp/mutants.txt", "the `file` of results: what it has is not run again")
	seed := flag.Uint64("seed", 1, "which mutants are drawn")
	count := flag.Int("count", 300, "how many")
	within := flag.String("in", "", "only those of files that begin with this, such as database/")
	only := flag.String("only", "", "these `numbers`, such as 17,118, and none that are drawn")
	flag.Parse()
	log.SetFlags(0)

	work, err := filepath.Abs(*out + ".work")
	must(err)
	if _, err := os.Stat(*out); err != nil {
		must(os.RemoveAll(work)) // it is of another run
	}
	results := openResults(*out)
	tree := filepath.Join(work, "tree")
	fmt.Println("changing the copy in", tree)
	must(os.RemoveAll(tree))
	must(os.MkdirAll(tree, 0o755))
	execute(".", "sh", "-c", `(git ls-files -co --exclude-standard; echo .git) | xargs cp -a --parents -t "$0"`, tree)
	places := change(tree, folders)
	fmt.Println(len(places), "places can be changed")
	rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	mutants := slices.DeleteFunc(places, func(p *place) bool {
		if *only != "" {
			return !slices.Contains(strings.Split(*only, ","), strconv.Itoa(p.number))
		}
		return !strings.HasPrefix(p.position, *within)
	})
	if *only == "" {
		mutants = mutants[:min(*count, len(mutants))]
	}
	left := slices.DeleteFunc(slices.Clone(mutants), func(p *place) bool { return results.lines[p.number] != "" })

	binaries := compile(tree, work)
	twoAtOnce(binaries, (*binary).record)
	slices.SortFunc(binaries, func(a, b *binary) int { return int(a.takes - b.takes) })
	twoAtOnce(left, func(p *place) { results.add(p, try(binaries, p)) })
	results.summarize(mutants)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func execute(folder, name string, arguments ...string) string {
	command := exec.Command(name, arguments...)
	command.Dir = folder
	output, err := command.CombinedOutput()
	if err != nil {
		log.Fatalf("%s in %s: %v\n%s", command, folder, err, output)
	}
	return string(output)
}

func twoAtOnce[T any](all []T, do func(T)) {
	work := make(chan T)
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			for one := range work {
				do(one)
			}
		})
	}
	for _, one := range all {
		work <- one
	}
	close(work)
	wait.Wait()
}

// results is the file of results: a line for each mutant.
type results struct {
	mu    sync.Mutex
	file  *os.File
	lines map[int]string
}

func openResults(path string) *results {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	must(err)
	text, err := os.ReadFile(path)
	must(err)
	r := &results{file: file, lines: map[int]string{}}
	for line := range strings.Lines(string(text)) {
		number, _, _ := strings.Cut(line, "\t")
		n, err := strconv.Atoi(number)
		must(err)
		r.lines[n] = strings.TrimSpace(line)
	}
	return r
}

func (r *results) add(p *place, verdict string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("%d\t%s\t%s\t%s", p.number, p.position, p.change, verdict)
	r.lines[p.number] = line
	fmt.Println(line)
	_, err := fmt.Fprintln(r.file, line)
	must(err)
}

func (r *results) summarize(mutants []*place) {
	drawn, killed := map[string]int{}, map[string]int{}
	for _, p := range mutants {
		for _, name := range []string{strings.Split(p.position, "/")[0], "all"} {
			drawn[name]++
			if strings.Contains(r.lines[p.number], "\tkilled by ") {
				killed[name]++
			} else if name == "all" {
				fmt.Println(r.lines[p.number])
			}
		}
	}
	for _, name := range append(slices.Clone(folders), "all") {
		if drawn[name] > 0 {
			percent := 100 * float64(killed[name]) / float64(drawn[name])
			fmt.Printf("%-12s %3d of %3d killed, %.1f %%\n", name, killed[name], drawn[name], percent)
		}
	}
}
