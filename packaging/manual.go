package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"users-api/commands"
)

// makeManual returns the man pages of users-api and of its commands, and the completions of shells.
func makeManual(version string, date time.Time) ([]file, error) {
	root := commands.NewRoot()
	root.InitDefaultHelpCmd()
	root.DisableAutoGenTag = true
	var files []file
	for _, shell := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"users-api.bash", func(w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{"users-api.fish", func(w io.Writer) error { return root.GenFishCompletion(w, true) }},
		{"users-api.ps1", root.GenPowerShellCompletionWithDesc},
		{"_users-api", root.GenZshCompletion},
	} {
		var script bytes.Buffer
		if err := shell.write(&script); err != nil {
			return nil, err
		}
		files = append(files, file{"completions/" + shell.name, 0o644, script.Bytes()})
	}
	header := doc.GenManHeader{Section: "1", Date: &date, Source: "users-api " + version, Manual: "users-api"}
	for _, command := range append([]*cobra.Command{root}, root.Commands()...) {
		indentExamples(command)
		var page bytes.Buffer
		own := header
		own.Title = strings.ToUpper(strings.ReplaceAll(command.CommandPath(), " ", "-"))
		if err := doc.GenMan(command, &own, &page); err != nil {
			return nil, fmt.Errorf("the man page of %s: %w", command.CommandPath(), err)
		}
		files = append(files, file{"man/" + strings.ToLower(own.Title) + ".1", 0o644, page.Bytes()})
	}
	return files, nil
}

// indentExamples indents the lines of a help text that are indented: cobra reads it as Markdown, in which two spaces more
// keep them as they are.
func indentExamples(command *cobra.Command) {
	command.Long = strings.ReplaceAll(command.Long, "\n  ", "\n      ")
}
