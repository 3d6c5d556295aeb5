package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"strings"
)

// A file of an archive or a package.
type file struct {
	name    string
	mode    int64
	content []byte
}

// archive writes what people unpack: a .zip for Windows and a .tar.gz for others.
func (r release) archive(t target, program []byte) error {
	name := fmt.Sprintf("users-api_%s_%s", r.version, t)
	files, err := r.files(t, name+"/", program)
	if err != nil {
		return err
	}
	write, extension := r.writeTar, ".tar.gz"
	if t.system == "windows" {
		write, extension = r.writeZip, ".zip"
	}
	archive, err := write(files)
	if err != nil {
		return err
	}
	return r.save(name+extension, archive)
}

// files returns what is in an archive.
func (r release) files(t target, prefix string, program []byte) ([]file, error) {
	name := "users-api"
	if t.system == "windows" {
		name += ".exe"
	}
	files := []file{{prefix + name, 0o755, program}}
	for _, document := range strings.Fields(r.documents) {
		content, err := os.ReadFile("../" + document)
		if err != nil {
			return nil, err
		}
		files = append(files, file{prefix + document, 0o644, content})
	}
	for _, page := range r.manual {
		files = append(files, file{prefix + page.name, page.mode, page.content})
	}
	return files, nil
}

func (r release) writeTar(files []file) ([]byte, error) {
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: r.date, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return compress(buffer.Bytes())
}

func (r release) writeZip(files []file) ([]byte, error) {
	var buffer bytes.Buffer
	archive := zip.NewWriter(&buffer)
	for _, f := range files {
		entry, err := archive.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.date})
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
