package main

import (
	"fmt"
	"testing"
)

func TestPathsAreCountedAlone(t *testing.T) {
	c := &counter{visits: map[string]int{}}
	c.visit("/a")
	c.visit("/b")
	if count, ok := c.visit("/a"); count != 2 || !ok {
		t.Fatal(count, ok)
	}
}

func TestPathsHaveALimit(t *testing.T) {
	c := &counter{visits: map[string]int{}}
	for i := 0; i < pathsMax; i++ {
		c.visit(fmt.Sprint(i))
	}
	if _, ok := c.visit("more"); ok {
		t.Fatal("accepted")
	}
}
