package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

// writeBill writes the bill of materials: CycloneDX, in JSON.
func (r release) writeBill() error {
	all, err := components()
	if err != nil {
		return err
	}
	bill := cdx.NewBOM()
	program := cdx.Component{BOMRef: "users-api", Type: cdx.ComponentTypeApplication, Name: "users-api", Version: r.version}
	bill.Metadata = &cdx.Metadata{Timestamp: r.date.Format(time.RFC3339), Component: &program}
	uses := []string{}
	parts := []cdx.Component{}
	for _, one := range all {
		part, err := one.part()
		if err != nil {
			return err
		}
		parts = append(parts, part)
		uses = append(uses, part.BOMRef)
	}
	bill.Components = &parts
	bill.Dependencies = &[]cdx.Dependency{{Ref: "users-api", Dependencies: &uses}}
	var text bytes.Buffer
	if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill, cdx.SpecVersion1_6); err != nil {
		return err
	}
	return r.save(fmt.Sprintf("users-api_%s_sbom.cdx.json", r.version), text.Bytes())
}

// part returns a component as CycloneDX describes it.
func (c component) part() (cdx.Component, error) {
	found := []string{}
	for _, path := range c.licenses {
		text, err := os.ReadFile(path)
		if err != nil {
			return cdx.Component{}, err
		}
		for _, match := range licensecheck.Scan(text).Match {
			if !match.IsURL && match.ID != "GooglePatentsFile" { // a grant beside a licence
				found = append(found, match.ID)
			}
		}
	}
	slices.Sort(found)
	part := cdx.Component{BOMRef: c.url, Type: cdx.ComponentTypeLibrary, Name: c.name, Version: c.version, PackageURL: c.url}
	choices := cdx.Licenses{}
	for _, id := range slices.Compact(found) {
		choices = append(choices, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	part.Licenses = &choices
	return part, nil
}
