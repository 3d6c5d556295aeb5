package scim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"users-api/models"
	"users-api/tests/program"
)

// randomFilter returns a filter, and whether a user, as /api/users shows it, meets it where the case of emails counts or not.
func randomFilter(random *rand.Rand, ignoresCase bool, depth int) (filter string, meets func(map[string]any) bool) {
	part := func() (string, func(map[string]any) bool) { return randomFilter(random, ignoresCase, depth-1) }
	blank := strings.Repeat(" ", 1+random.IntN(2)*random.IntN(3))
	switch kind := random.IntN(6); {
	case depth == 0 || kind < 2:
		return randomComparison(random, ignoresCase)
	case kind == 2:
		inner, meets := part()
		return pick(random, "not", "NOT ", "not") + "(" + inner + ")", func(user map[string]any) bool { return !meets(user) }
	case kind == 3:
		inner, meets := part()
		return "( " + inner + ")", meets
	case kind == 4:
		left, first := part()
		right, second := part()
		return "(" + left + ")" + blank + "or" + blank + "(" + right + ")", func(user map[string]any) bool { return first(user) || second(user) }
	default:
		left, first := part()
		right, second := part()
		return "(" + left + ")" + blank + "And " + "(" + right + ")", func(user map[string]any) bool { return first(user) && second(user) }
	}
}

// heldBy are the fields of attributes that are texts.
var heldBy = map[string]string{"userName": "user_name", "displayName": "name", "name.formatted": "name", "name.givenName": "given_name",
	"name.familyName": "family_name", "externalId": "external_id", "title": "title", core + ":locale": "locale", "emails": "email",
	"emails.value": "email", `emails[type eq "work"].value`: "email", enterprise + ":department": "department"}

func randomComparison(random *rand.Rand, ignoresCase bool) (filter string, meets func(map[string]any) bool) {
	attribute, field := "id", "id"
	for attribute, field = range heldBy { // in random order
		break
	}
	text := func(user map[string]any) string { return fmt.Sprint(user[field]) }
	operator := pick(random, "eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le", "pr")
	value, quoted := pick(random, texts...), ""
	switch random.IntN(8) {
	case 0:
		attribute, field, value = "id", "id", strconv.Itoa(random.IntN(40))
	case 1:
		attribute, field, value = "active", "active", strconv.FormatBool(random.IntN(2) == 0)
		operator = pick(random, "eq", "ne", "pr")
		text = func(user map[string]any) string { return strconv.FormatBool(user["active"] != "false") }
		quoted = pick(random, value, strconv.Quote(strings.ToUpper(value)))
	case 2:
		attribute, field, value = "meta.created", "created_at", fmt.Sprintf("202%d-01-02 03:04:05", random.IntN(10))
		operator = pick(random, "eq", "ne", "gt", "ge", "lt", "le", "pr")
		quoted = `"` + strings.Replace(value, " ", "T", 1) + `Z"`
	}
	if quoted == "" {
		encoded, _ := json.Marshal(value)
		quoted = string(encoded)
	}
	filter = pick(random, attribute, strings.ToLower(attribute), strings.ToUpper(attribute)) + " " + pick(random, operator, strings.ToUpper(operator))
	if operator != "pr" {
		filter += " " + quoted
	}
	return filter, func(user map[string]any) bool {
		is := text(user)
		if user[field] == nil && field != "active" {
			is = ""
		}
		value := value
		if field == "email" && ignoresCase {
			is, value = models.LowerASCII(is), models.LowerASCII(value)
		}
		order := strings.Compare(is, value)
		if field == "id" {
			a, _ := strconv.Atoi(is)
			b, _ := strconv.Atoi(value)
			order = a - b
		}
		switch operator {
		case "eq":
			return is == value
		case "ne":
			return is != value
		case "co":
			return strings.Contains(is, value)
		case "sw":
			return strings.HasPrefix(is, value)
		case "ew":
			return strings.HasSuffix(is, value)
		case "gt":
			return is != "" && order > 0
		case "ge":
			return is != "" && order >= 0
		case "lt":
			return is != "" && order < 0
		case "le":
			return is != "" && order <= 0
		}
		return is != ""
	}
}

var texts = []string{"", "a", "A", "ab", "B", "é", "É", "e", "%", "_", `"`, `\`, "a b", " and ", "( [", "Ada", "\U0001F600", "\u2028", "<&>", "10", "9"}

// A filter and its not divide the users exactly as a plain model does.
func TestRandomFiltersFindWhomAPlainModelFinds(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	p := serve(t, all)
	other := program.OpenOther(t, p.DatabasePath())
	for i := range 30 {
		user := map[string]any{"name": pick(random, texts[1:]...), "email": pick(random, texts[1:]...) + strconv.Itoa(i)}
		for _, field := range strings.Split(all, ",") {
			if random.IntN(3) > 0 {
				user[field] = pick(random, texts...)
			}
		}
		user["active"] = pick(random, "true", "false", "")
		body, _ := json.Marshal(user)
		p.Do(t, "POST", "/api/users", string(body)).Expect(t, 201, "…")
		other.Do(fmt.Sprintf("UPDATE users SET created_at = '202%d-01-02 03:04:05+00' WHERE id = %d", random.IntN(10), i+1))
	}
	var users []map[string]any
	decoder := json.NewDecoder(strings.NewReader(p.Do(t, "GET", "/api/users", "").Body))
	decoder.UseNumber()
	program.Must(t, decoder.Decode(&users))
	many := program.Times(150, 5000)
	asked := p.At(p.URL) // to compare each answer with the document would take most of the time
	for n := range 2 * many {
		if n == many {
			p.Run(t, "ignore-email-case").MustSucceed(t)
			p = serve(t, all, "DATA_DIR="+p.DataDir)
			asked = p.At(p.URL)
		}
		filter, meets := randomFilter(random, n >= many, random.IntN(5))
		var ids, others []string
		for _, user := range users {
			if meets(user) {
				ids = append(ids, fmt.Sprint(user["id"]))
			} else {
				others = append(others, fmt.Sprint(user["id"]))
			}
		}
		if got, rest := found(t, asked, filter), found(t, asked, "not ("+filter+")"); got != strings.Join(ids, " ") || rest != strings.Join(others, " ") {
			t.Fatalf("with seed %d, %s finds\n%s, and its not\n%s, want\n%v and\n%v", seed, filter, got, rest, ids, others)
		}
	}
}
