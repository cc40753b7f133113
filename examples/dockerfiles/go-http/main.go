// Counts visits of each path.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"sync"
)

const pathsMax = 1000

type counter struct {
	lock   sync.Mutex
	visits map[string]int
}

func (c *counter) visit(path string) (int, bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.visits[path] == 0 && len(c.visits) == pathsMax {
		return 0, false
	}
	c.visits[path]++
	return c.visits[path], true
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	count, ok := c.visit(r.URL.Path)
	if !ok {
		http.Error(w, "too many paths", http.StatusInsufficientStorage)
		return
	}
	fmt.Fprintf(w, "%s: %d\n", r.URL.Path, count)
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to listen at")
	flag.Parse()
	log.Fatal(http.ListenAndServe(*listen, &counter{visits: map[string]int{}}))
}
