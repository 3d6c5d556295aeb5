package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A component is what somebody else wrote and the program contains: a module, Go itself, or Swagger UI.
type component struct {
	name     string // of the module
	version  string
	url      string   // a package URL, https://github.com/package-url/purl-spec
	licenses []string // the files, sorted
}

// isLicense matches the names of files that a licence may require to be passed on.
var isLicense = regexp.MustCompile(`(?i)^(([a-z-]+-)?licen[cs]e|copying|notice|patents|third-party)([.-][a-z0-9.-]+)?$`)

// components returns everything that the program for any target contains, sorted by name.
func components() ([]component, error) {
	found := map[string]*component{}
	for _, t := range targets {
		if err := addLinked(found, t); err != nil {
			return nil, err
		}
	}
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	version, err := output("go", "env", "GOVERSION")
	if err != nil {
		return nil, err
	}
	version = strings.TrimPrefix(version, "go")
	found["Go"] = &component{"Go", version, "pkg:golang/stdlib@" + version, []string{filepath.Join(root, "LICENSE")}}
	swagger, err := swaggerUI()
	if err != nil {
		return nil, err
	}
	found[swagger.name] = &swagger
	all := []component{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		one := found[name]
		slices.Sort(one.licenses)
		one.licenses = slices.Compact(one.licenses)
		all = append(all, *one)
		if len(one.licenses) == 0 {
			return nil, fmt.Errorf("%s has no licence", name)
		}
	}
	return all, nil
}

// A listed package is what "go list" says of a package.
type listed struct {
	Dir    string
	Module *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// addLinked adds the modules of all packages that the program for a target contains.
func addLinked(found map[string]*component, t target) error {
	command := exec.Command("go", "list", "-deps", "-tags", "nomsgpack", "-json=Dir,Module", ".")
	command.Dir = ".."
	command.Env = append(os.Environ(), t.environment()...)
	command.Stderr = os.Stderr
	printed, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(printed)))
	for {
		var is listed
		if err := decoder.Decode(&is); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if is.Module == nil || is.Module.Main { // of Go, or of the program
			continue
		}
		one := found[is.Module.Path]
		if one == nil {
			url := "pkg:golang/" + strings.ToLower(is.Module.Path) + "@" + is.Module.Version
			one = &component{name: is.Module.Path, version: is.Module.Version, url: url}
			found[is.Module.Path] = one
		}
		if err := one.addLicenses(is.Dir, is.Module.Dir); err != nil {
			return err
		}
	}
}

// addLicenses adds the licences in a directory and in those above it, up to that of the module.
func (c *component) addLicenses(directory, module string) error {
	for {
		entries, err := os.ReadDir(directory)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if !entry.IsDir() && filepath.Ext(entry.Name()) != ".go" && isLicense.MatchString(entry.Name()) {
				c.licenses = append(c.licenses, filepath.Join(directory, entry.Name()))
			}
		}
		if directory == module {
			return nil
		}
		directory = filepath.Dir(directory)
	}
}

// swaggerUI returns the version that web/web_test.go names beside the sums of its files.
func swaggerUI() (component, error) {
	tests, err := os.ReadFile("../web/web_test.go")
	if err != nil {
		return component{}, err
	}
	version := regexp.MustCompile(`swagger-ui-dist (\d[\d.]*\d) `).FindSubmatch(tests)
	licenses, err := filepath.Glob("../web/docs/*.txt")
	if version == nil || err != nil {
		return component{}, fmt.Errorf("web/web_test.go does not say which swagger-ui-dist is in web/docs (%w)", err)
	}
	url := "pkg:npm/swagger-ui-dist@" + string(version[1])
	return component{"swagger-ui-dist", string(version[1]), url, licenses}, nil
}
