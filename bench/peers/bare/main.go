// Command bare answers one list from memory with nothing but net/http: the limit of what a Go server can reach.
//
// The list is the file named by BODY. Nothing is stored, and nothing is checked.
package main

import (
	"log"
	"net/http"
	"os"
	"strconv"
)

func main() {
	body, err := os.ReadFile(os.Getenv("BODY"))
	if err != nil {
		log.Fatal(err)
	}
	length := strconv.Itoa(len(body))
	http.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status":"ok"}`)) })
	http.HandleFunc("GET /api/users", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Content-Length", length)
		_, _ = w.Write(body)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
