package scim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	filter "github.com/scim2/filter-parser/v2"

	"users-api/tests/program"
)

// pick returns one of some texts.
func pick(random *rand.Rand, texts ...string) string { return texts[random.IntN(len(texts))] }

// randomFilter returns a filter, mostly as providers send one. It leaves out what the parser reads in another way than JSON: True
// without quotes, and escapes such as \u0031.
func randomFilter(random *rand.Rand, depth int) string {
	if depth > 0 && random.IntN(3) == 0 {
		left, right := randomFilter(random, depth-1), randomFilter(random, depth-1)
		return pick(random, left+" and "+right, left+" AND "+right, left+" and "+right, left+" or "+right, "("+left+")", "not ("+left+")")
	}
	if random.IntN(2) == 0 {
		return pick(random, `userName eq "u1"`, `username eq "u3"`, `externalId eq "a1"`, `id eq "1"`, "active EQ true", "active eq false",
			`displayName eq "N1"`, `emails eq "e1@x"`, `emails.value eq "e3@x"`, core+`:userName eq "u1"`)
	}
	attribute := pick(random, "userName", "username", "externalId", "id", "active", "displayName", "emails", "emails.value", core+":userName",
		"title", "name.familyName", `emails[type eq "work"]`, "meta.created", "x:y")
	if depth == 3 { // a whole filter
		attribute = pick(random, attribute, `emails[type eq "work"].value`)
	}
	operator := pick(random, "eq", "eq", "eq", "eq", "EQ", "Eq", "ne", "co", "sw", "pr", "gt", "is")
	value := pick(random, `"u1"`, `"u2"`, `"a1"`, `"1"`, `"2"`, `"N1"`, `"e1@x"`, `"a b]"`, "true", "false", "null", "1", `'u1'`, `"`, "")
	text := attribute + " " + operator + " " + value
	if operator == "pr" {
		text = attribute + " pr"
	}
	if at := random.IntN(8 * len(text)); at < len(text) {
		text = text[:at] + text[at+1:]
	}
	return text
}

// judge returns why an expression is none that the service knows, or "", and whether a user matches it.
func judge(expression filter.Expression, user map[string]any) (unknown string, matches bool) {
	switch e := expression.(type) {
	case *filter.LogicalExpression:
		left, a := judge(e.Left, user)
		right, b := judge(e.Right, user)
		if e.Operator != filter.AND {
			return "or", false
		}
		return left + right, a && b
	case *filter.AttributeExpression:
		path := strings.ToLower(strings.TrimPrefix(e.AttributePath.String(), core+":"))
		value, known := user[path]
		_, isText := e.CompareValue.(string)
		_, isBool := e.CompareValue.(bool)
		switch {
		case !known:
			return "another attribute", false
		case e.Operator != filter.EQ:
			return "another operator", false
		case !isText && !isBool || isBool != (path == "active"):
			return "a value of another type", false
		}
		return "", value == e.CompareValue
	}
	return "not, or an attribute[filter] alone", false
}

// Where the parser accepts a filter and the service does not, it is for a reason that judge knows, or for parentheses. Where
// both accept it, the service finds what an evaluation of the parser's tree finds.
func TestFiltersFindWhatAnotherParserReads(t *testing.T) {
	quoted := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	t.Parallel()
	p := serve(t, needed+",user_name")
	people := map[string]map[string]any{}
	for i := 1; i <= 3; i++ {
		id, active := fmt.Sprint(i), i != 2
		p.Do(t, "POST", users, fmt.Sprintf(`{"userName":"u%d","externalId":"a%d","displayName":"N%d","active":%t,"emails":[{"value":"e%d@x"}]}`, i, i, i%2, active, i))
		people[id] = map[string]any{"username": "u" + id, "externalid": "a" + id, "id": id, "active": active,
			"displayname": fmt.Sprint("N", i%2), "emails": "e" + id + "@x", "emails.value": "e" + id + "@x"}
	}
	seed := rand.Uint64()
	random, counts := rand.New(rand.NewPCG(seed, 0)), map[string]int{}
	for range program.Times(800, 100_000) {
		text := randomFilter(random, 3)
		got := p.Do(t, "GET", users+"?filter="+url.QueryEscape(text), "")
		// The parser does not know emails[type eq "work"].value, which Entra ID sends.
		known := strings.Replace(text, `emails[type eq "work"].value`, "emails.value", 1)
		expression, err := filter.ParseFilter([]byte(known))
		why, want := "", []string{}
		for _, id := range slices.Sorted(maps.Keys(people)) {
			unknown, matches := "", false
			if err == nil {
				unknown, matches = judge(expression, people[id])
			}
			if why = unknown; matches && unknown == "" {
				want = append(want, id)
			}
		}
		var found struct{ Resources []struct{ ID string } }
		if json.Unmarshal([]byte(got.Body), &found) != nil {
			t.Fatal(got)
		}
		ids := []string{}
		for _, user := range found.Resources {
			ids = append(ids, user.ID)
		}
		isKnown := err == nil && why == "" && !strings.Contains(quoted.ReplaceAllString(text, ""), "(")
		if isKnown != (got.Status == 200) || isKnown && !slices.Equal(ids, want) || !isKnown && !strings.Contains(got.Body, `"invalidFilter"`) {
			t.Fatalf("with seed %d, %q is answered %d %v, and the parser finds %v %v %s", seed, text, got.Status, ids, want, err, why)
		}
		counts[fmt.Sprint(got.Status, " ", min(len(ids), 1))]++
	}
	if counts["200 1"] < 15 || counts["200 0"] < 15 || counts["400 0"] < 15 {
		t.Errorf("with seed %d, the filters were %v", seed, counts)
	}
}

// patcher is npm's scim-patch: it gets a user and operations in each line, and returns the user or null.
const patcher = `
const {scimPatch} = require(process.argv[1])
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const {user, operations} = JSON.parse(line)
  let result = null
  try { result = scimPatch(user, operations, {mutateDocument: false, treatMissingAsAdd: true}) } catch (refused) {}
  console.log(JSON.stringify(result))
})`

// randomOperation returns an operation that scim-patch and the service understand in the same way. It leaves out
//   - what the service refuses and scim-patch does not know: other attributes, values of another type, a user without a userName;
//   - name.formatted, which is another word for displayName here;
//   - the schema of the extension alone as a path, which scim-patch takes apart at its last colon;
//   - active that is taken away: the service refuses that;
//   - emails without an @, which the service does not show.
func randomOperation(random *rand.Rand) map[string]any {
	text := pick(random, "A", "B", "", "ü\"\\", "c@x", "d@x")
	operation := map[string]any{"op": pick(random, "add", "Add", "replace", "Replace", "remove", "Remove"), "value": text}
	isRemoval := strings.EqualFold(operation["op"].(string), "remove")
	path := pick(random, "title", "locale", "externalId", "name.givenName", "name.familyName", core+":timezone", enterprise+":department",
		`emails[type eq "work"].value`, "displayName", "userName", "active", "name", "", "emails")
	operation["path"] = path
	switch path {
	case "userName", "displayName":
		operation["op"], operation["value"] = pick(random, "add", "replace"), "x"+text
	case `emails[type eq "work"].value`:
		operation["op"], operation["value"] = pick(random, "add", "replace"), fmt.Sprintf("w%d@x", random.Uint32())
	case "active":
		operation["op"], operation["value"] = "replace", random.IntN(2) == 0
		if random.IntN(2) == 0 {
			operation["value"] = pick(random, "True", "False")
		}
	case "name":
		operation["value"] = map[string]any{pick(random, "givenName", "familyName"): text}
	case "":
		operation["op"], operation["value"] = pick(random, "add", "replace"), map[string]any{
			pick(random, "title", "name.givenName", core+":locale"): text, enterprise + ":division": text, "displayName": "y" + text}
	case "emails":
		operation["op"] = pick(random, "add", "replace")
		operation["value"] = []any{map[string]any{"value": fmt.Sprintf("f%d@x", random.Uint32()), "type": "work"},
			map[string]any{"value": fmt.Sprintf("p%d@x", random.Uint32()), "type": "work", "primary": random.IntN(2) == 0}}
	}
	if isRemoval = isRemoval && strings.EqualFold(fmt.Sprint(operation["op"]), "remove"); isRemoval {
		delete(operation, "value")
	}
	return operation
}

// flat returns what the service keeps of a user.
func flat(user map[string]any) map[string]any {
	kept := map[string]any{}
	for _, name := range []string{"userName", "externalId", "title", "locale", "timezone", "active", "displayName"} {
		kept[name] = user[name]
	}
	if text, isText := user["active"].(string); isText {
		kept["active"] = text == "True"
	}
	names, _ := user["name"].(map[string]any)
	kept["given"], kept["family"] = names["givenName"], names["familyName"]
	more, _ := user[enterprise].(map[string]any)
	kept["department"], kept["division"] = more["department"], more["division"]
	emails, _ := user["emails"].([]any)
	for i, email := range emails {
		if email := email.(map[string]any); i == 0 || email["primary"] == true {
			kept["email"] = email["value"]
		}
	}
	return kept
}

func TestAPatchMakesWhatAnotherImplementationMakes(t *testing.T) {
	t.Parallel()
	library := os.Getenv("SCIM_PATCH")
	if _, err := exec.LookPath("node"); err != nil || library == "" {
		t.Skip("needs node, and SCIM_PATCH, which names the directory of npm's scim-patch")
	}
	node := exec.Command("node", "-e", patcher, library)
	node.Stderr = os.Stderr
	to, err := node.StdinPipe()
	from, failed := node.StdoutPipe()
	if err = errors.Join(err, failed, node.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = to.Close(), node.Wait() })
	results := json.NewDecoder(from)
	p := serve(t, all)
	p.Do(t, "POST", users, `{"userName":"ada","displayName":"Ada","title":"T","active":true,"emails":[{"value":"a@x"}]}`)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range program.Times(1000, 20_000) {
		before := read(t, p.Do(t, "GET", users+"/1", ""))
		var operations []any
		for range 1 + random.IntN(4) {
			operations = append(operations, randomOperation(random))
		}
		line, _ := json.Marshal(map[string]any{"user": before, "operations": operations})
		if _, err := fmt.Fprintf(to, "%s\n", line); err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := results.Decode(&want); err != nil {
			t.Fatal(err)
		}
		body, _ := json.Marshal(map[string]any{"Operations": operations})
		answer := p.Do(t, "PATCH", users+"/1", string(body))
		if want == nil || answer.Status != 200 {
			t.Fatalf("with seed %d, %s of %v is answered %v, and scim-patch makes %v", seed, body, before, answer, want)
		}
		if got, want := flat(read(t, answer)), flat(want); !maps.Equal(got, want) {
			t.Fatalf("with seed %d, %s of\n%v makes\n%v, and scim-patch\n%v", seed, body, flat(before), got, want)
		}
	}
}

func read(t *testing.T, answer program.Answer) (user map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(answer.Body), &user); err != nil {
		t.Fatal(answer)
	}
	return user
}
