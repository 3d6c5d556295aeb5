package config

import (
	"mime"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// People says how a proxy that has a key of PROXY_KEY names the person who has signed in, and who of them may write.
type People struct {
	Header       string // PERSON_HEADER, in the form of [http.CanonicalHeaderKey]
	GroupsHeader string // PERSON_GROUPS_HEADER, in the same form

	areLimited    bool     // by PERSON_WRITERS: otherwise everyone whom the proxy lets in may write
	names, groups []string // who may write
}

// headerName matches a token (RFC 9110, section 5.6.2).
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// people reads the settings of people: nil without PROXY_KEY. A PERSON_WRITERS that is set and empty is a mistake, and does
// not mean everyone.
func (v *variables) people() *People {
	_, isSet := os.LookupEnv("PROXY_KEY")
	if !isSet && !isInFile("PROXY_KEY") {
		for _, name := range []string{"PERSON_HEADER", "PERSON_GROUPS_HEADER", "PERSON_WRITERS"} {
			if os.Getenv(name) != "" {
				v.refuse(name, " without PROXY_KEY: nobody could be believed; set PROXY_KEY or PROXY_KEY_FILE too, or unset it")
			}
		}
		return nil
	}
	people := &People{Header: v.header("PERSON_HEADER"), GroupsHeader: v.header("PERSON_GROUPS_HEADER")}
	if people.Header == people.GroupsHeader {
		v.refuse("PERSON_GROUPS_HEADER", ", and PERSON_HEADER is the same: give each a header of its own")
	}
	var writers string
	if writers, people.areLimited = os.LookupEnv("PERSON_WRITERS"); !people.areLimited {
		return people
	}
	for writer := range strings.SplitSeq(writers, ",") {
		name, isGroup := strings.CutPrefix(strings.TrimSpace(writer), "group:")
		list := &people.names
		if isGroup {
			list = &people.groups
		}
		if name = strings.TrimSpace(name); name == "" {
			v.refuse("PERSON_WRITERS", ": it must be names of people, and of groups behind group:, with a comma between, "+
				"such as group:editors,ada; unset it so that everyone whom the proxy lets in may write")
		}
		*list = append(*list, name)
	}
	return people
}

// header returns the name of a header that has no meaning of its own.
func (v *variables) header(name string) string {
	header := http.CanonicalHeaderKey(v.GetString(name))
	if !headerName.MatchString(header) || slices.Contains([]string{"Authorization", "Cookie", "Host", "X-Api-Key"}, header) {
		v.refuse(name, ": it must be the name of a header, and not Authorization, Cookie, Host or X-API-Key")
	}
	return header
}

const (
	maxPerson = 200   // bytes in the name of a person
	blanks    = " \t" // of a header (RFC 9110, section 5.6.3)
)

// Person returns the person whom a proxy has named in the headers of a request, or a sentence that says what is wrong
// with the name, without it.
func (p People) Person(header http.Header) (name, problem string) {
	lines := header.Values(p.Header)
	name = strings.Trim(strings.Join(lines, ""), blanks)
	var err error
	if strings.HasPrefix(name, "=?") { // encoded words (RFC 2047)
		name, err = new(mime.WordDecoder).DecodeHeader(name)
		name = strings.Trim(name, blanks)
	}
	switch {
	case len(lines) > 1:
		return "", "The proxy sent " + p.Header + " more than once"
	case err != nil:
		problem = "in an encoding that cannot be read"
	case name == "":
		return "", "The proxy sent no person in " + p.Header
	case len(name) > maxPerson:
		problem = "of more than 200 bytes"
	case !utf8.ValidString(name):
		problem = "that is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		problem = "with a control character"
	case name[0] == '{' && name[len(name)-1] == '}': // what Caddy sends where it has nothing to put there
		problem = "in braces: it had none to put there"
	default:
		return name, ""
	}
	return "", "The proxy sent a person in " + p.Header + " " + problem
}

// MayWrite reports whether a person may write: by the name, or by one of the groups that the proxy has sent.
func (p People) MayWrite(name string, header http.Header) bool {
	if !p.areLimited || slices.Contains(p.names, name) {
		return true
	}
	isSeparator := func(char rune) bool { return char == ',' || char == '|' }
	groups := strings.FieldsFunc(strings.Join(header.Values(p.GroupsHeader), ","), isSeparator)
	return slices.ContainsFunc(groups, func(group string) bool { return slices.Contains(p.groups, strings.Trim(group, blanks)) })
}
