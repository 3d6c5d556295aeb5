package followers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// Watch reads a stream until the client or the service is killed. It goes on after the last whole event that it has.
func (f *Follower) Watch() error {
	if f.now.cursor == "" {
		return f.export()
	}
	ctx, kill := context.WithTimeout(context.Background(), time.Duration(rand.IntN(1500))*time.Millisecond)
	defer kill()
	url := fmt.Sprintf("%s/api/changes?limit=%d", f.Any().URL, []int{1, 7, 1000}[rand.IntN(3)])
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Last-Event-ID", f.now.cursor)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil // one of them was killed
	}
	defer response.Body.Close() //nolint:errcheck // it is read until one of them is killed
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: after %s a stream is answered %d", f.Name, f.now.cursor, response.StatusCode)
	}
	return f.readEvents(bufio.NewScanner(response.Body))
}

// readEvents applies events. What has no empty line after it is no event.
func (f *Follower) readEvents(lines *bufio.Scanner) error {
	var id, data string
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "id":
			id = value
		case name == "data":
			data = value
		case name == "" && data != "":
			if err := f.applyEvent(id, data); err != nil || f.now.cursor != id { // it has exported
				return err
			}
			data = ""
		}
	}
	return nil
}

func (f *Follower) applyEvent(id, data string) error {
	var one change
	if err := json.Unmarshal([]byte(data), &one); err != nil || one.Cursor != id {
		return fmt.Errorf("%s: the event %q is %s: %w", f.Name, id, data, err)
	}
	f.Reads++
	return f.apply(response{[]change{one}, id})
}
