package scim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"users-api/tests/program"
)

// pick returns one of some texts.
func pick(random *rand.Rand, texts ...string) string { return texts[random.IntN(len(texts))] }

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
	if strings.EqualFold(fmt.Sprint(operation["op"]), "remove") {
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
	if kept["externalId"] == "" { // which is none
		kept["externalId"] = nil
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

// named gives a user the name that its new parts make, which scim-patch leaves to the service.
func named(before, user map[string]any, operations string) map[string]any {
	name := strings.Trim(strings.ReplaceAll(fmt.Sprint(user["given"], " ", user["family"]), "<nil>", ""), " ")
	part := func(of map[string]any, name string) string {
		return strings.ReplaceAll(fmt.Sprint(of[name]), "<nil>", "")
	}
	isNew := part(user, "given") != part(before, "given") || part(user, "family") != part(before, "family")
	if isNew && name != "" && !strings.Contains(operations, "displayName") {
		user["displayName"] = name
	}
	return user
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
	program.Must(t, errors.Join(err, failed, node.Start()))
	t.Cleanup(func() { _, _ = to.Close(), node.Wait() })
	results := json.NewDecoder(from)
	p := serve(t, all)
	p.Do(t, "POST", users, `{"userName":"ada","displayName":"Ada","title":"T","active":true,"emails":[{"value":"a@x"}]}`)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range program.Times(1000, 20_000) {
		var before, want, got map[string]any
		program.Must(t, json.Unmarshal([]byte(p.Do(t, "GET", users+"/1", "").Body), &before))
		var operations []any
		for range 1 + random.IntN(4) {
			operations = append(operations, randomOperation(random))
		}
		line, _ := json.Marshal(map[string]any{"user": before, "operations": operations})
		_, err := fmt.Fprintf(to, "%s\n", line)
		program.Must(t, errors.Join(err, results.Decode(&want)))
		body, _ := json.Marshal(map[string]any{"Operations": operations})
		answer := p.Do(t, "PATCH", users+"/1", string(body))
		if want == nil || answer.Status != 200 {
			t.Fatalf("with seed %d, %s of %v is answered %v, and scim-patch makes %v", seed, body, before, answer, want)
		}
		program.Must(t, json.Unmarshal([]byte(answer.Body), &got))
		if got, want := flat(got), named(flat(before), flat(want), string(body)); !maps.Equal(got, want) {
			t.Fatalf("with seed %d, %s of\n%v makes\n%v, and scim-patch\n%v", seed, body, flat(before), got, want)
		}
	}
}
