// Command mutate changes the program one small thing at a time and runs the tests, to see which changes they do not notice. Every
// place is changed in one copy of the repository, and asks at run time whether it is the one: so each test is compiled once.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var folders = []string{"config", "controllers", "models", "routes"}

var (
	out     = flag.String("out", filepath.Join(os.TempDir(), "users-api-mutants.txt"), "the `file` of results; what it has is not run again. FILE.work has the changed copy")
	seed    = flag.Uint64("seed", 1, "which mutants are drawn")
	count   = flag.Int("count", 300, "how many")
	within  = flag.String("in", "", "only those of files that begin with this, such as models/")
	only    = flag.String("only", "", "these `numbers`, such as 17,118, instead of any that are drawn")
	workers = flag.Int("workers", 2, "how many mutants run at once")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run() error {
	work, err := filepath.Abs(*out + ".work")
	if err != nil {
		return err
	}
	tree, err := prepare(work)
	if err != nil {
		return err
	}
	mutants, err := tree.draw()
	if err != nil {
		return err
	}
	suite, err := compile(tree.root, work)
	if err != nil {
		return err
	}
	if err := suite.record(); err != nil {
		return err
	}
	results, err := openResults(*out)
	if err != nil {
		return err
	}
	defer results.file.Close() //nolint:errcheck // each line is written at once
	err = each(mutants, func(p *place) error {
		if results.lines[p.number] != "" {
			return nil
		}
		verdict, err := suite.try(p)
		return errors.Join(err, results.add(p, verdict))
	})
	if err != nil {
		return err
	}
	results.summarize(mutants)
	return nil
}

// prepare copies the repository and changes every place of the copy.
func prepare(work string) (*tree, error) {
	root := filepath.Join(work, "tree")
	fmt.Println("changing the copy in", root)
	if output, err := exec.Command("sh", "-c", `rm -rf "$0/tree" && mkdir -p "$0" && git ls-files -co --exclude-standard -z |
		xargs -0 cp -a --parents -t "$(mkdir "$0/tree" && echo "$0/tree")" && cp -a .git "$0/tree"`, work).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copying the repository: %w\n%s", err, output)
	}
	tree, err := findPlaces(root, folders)
	if err != nil {
		return nil, err
	}
	return tree, tree.change(folders)
}

// draw returns the mutants to run. Which they are depends on the program and the seed, and not on its tests.
func (t *tree) draw() (drawn []*place, err error) {
	places := slices.DeleteFunc(slices.Clone(t.places), func(p *place) bool { return p.doesNotCompile })
	fmt.Printf("%d places, of which %d compile\n", len(t.places), len(places))
	if *only != "" {
		for text := range strings.SplitSeq(*only, ",") {
			number, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil || number < 1 || number > len(t.places) || t.places[number-1].doesNotCompile {
				return nil, fmt.Errorf("there is no mutant %q", text)
			}
			drawn = append(drawn, t.places[number-1])
		}
		return drawn, nil
	}
	rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	places = slices.DeleteFunc(places, func(p *place) bool { return !strings.HasPrefix(p.file, *within) })
	return places[:min(*count, len(places))], nil
}

// each runs the workers, until one fails.
func each[T any](all []T, do func(T) error) error {
	work, failed := make(chan T), make(chan error, *workers)
	var wait sync.WaitGroup
	for range *workers {
		wait.Go(func() {
			for one := range work {
				if err := do(one); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	var err error
	for _, one := range all {
		select {
		case work <- one:
			continue
		case err = <-failed:
		}
		break
	}
	close(work)
	wait.Wait()
	close(failed)
	return errors.Join(err, <-failed)
}

// results is the file of results: a line for each mutant, whose last field is what killed it.
type results struct {
	mu    sync.Mutex
	file  *os.File
	lines map[int]string
}

const lives = "lives"

func openResults(path string) (*results, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	r := &results{lines: map[int]string{}}
	for line := range strings.Lines(string(text)) {
		if number, err := strconv.Atoi(strings.Split(line, "\t")[0]); err == nil {
			r.lines[number] = strings.TrimSpace(line)
		}
	}
	r.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return r, err
}

func (r *results) add(p *place, verdict string) error {
	if verdict == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("%d\t%s:%d\t%s\t%s", p.number, p.file, p.line, p.change, verdict)
	r.lines[p.number] = line
	fmt.Println(line)
	_, err := fmt.Fprintln(r.file, line)
	return err
}

func (r *results) summarize(mutants []*place) {
	all, killed := map[string]int{}, map[string]int{}
	fmt.Println("\nThese live:")
	for _, p := range mutants {
		line, folder := r.lines[p.number], strings.Split(p.file, "/")[0]
		all[folder]++
		all["all"]++
		if strings.Contains(line, "\t"+lives) {
			fmt.Println(line)
			continue
		}
		killed[folder]++
		killed["all"]++
	}
	fmt.Println()
	for _, folder := range append(slices.Clone(folders), "all") {
		if all[folder] > 0 {
			fmt.Printf("%-12s %3d of %3d killed, %.1f %%\n", folder, killed[folder], all[folder],
				100*float64(killed[folder])/float64(all[folder]))
		}
	}
}
