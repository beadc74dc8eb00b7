//go:build race

package main

// underRace says that this program takes many times the memory and the time.
const underRace = true
