package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // so that nfpm.Get knows it
	_ "github.com/goreleaser/nfpm/v2/rpm" // likewise
)

// packages writes a .deb and an .rpm, as nfpm.yaml describes them.
func (r release) packages(t target, program []byte) error {
	files, err := r.stage(program)
	if err != nil {
		return err
	}
	defer os.RemoveAll(files) //nolint:errcheck // the system removes it later
	for _, format := range []string{"deb", "rpm"} {
		values := map[string]string{
			"VERSION": r.version, "PROCESSOR": t.processor + t.variant, "FILES": files,
			"ZSH": map[string]string{"deb": "vendor-completions", "rpm": "site-functions"}[format],
		}
		config, err := nfpm.ParseFileWithEnvMapping("nfpm.yaml", func(name string) string { return values[name] })
		if err != nil {
			return err
		}
		info, err := config.Get(format)
		if err != nil {
			return err
		}
		if err := r.write(format, info); err != nil {
			return err
		}
	}
	return nil
}

// write writes one package.
func (r release) write(format string, info *nfpm.Info) error {
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info.MTime = r.date
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	var content bytes.Buffer
	if err := packager.Package(info, &content); err != nil {
		return err
	}
	return r.save(packager.ConventionalFileName(info), content.Bytes())
}

// stage writes what a package contains into a temporary directory, because nfpm reads files.
func (r release) stage(program []byte) (string, error) {
	directory, err := os.MkdirTemp("", "users-api")
	if err != nil {
		return "", err
	}
	for _, f := range append([]file{{"users-api", 0o755, program}}, r.manual...) {
		if strings.HasPrefix(f.name, "man/") {
			f.name += ".gz" // as Debian has them
			if f.content, err = compress(f.content); err != nil {
				return "", err
			}
		}
		path := filepath.Join(directory, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, f.content, os.FileMode(f.mode)); err != nil {
			return "", err
		}
	}
	return directory, nil
}

// compress returns what "gzip -9n" makes.
func compress(content []byte) ([]byte, error) {
	var compressed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	err = writer.Close()
	return compressed.Bytes(), err
}
