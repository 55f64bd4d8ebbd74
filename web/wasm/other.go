//go:build !js || !wasm

package main

func main() { panic("web/wasm runs in browsers; web/site compiles it for them") }
