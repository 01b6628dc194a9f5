//go:build tools

// Package tools pins Flux's source-controller, which the tests run against a real API server.
package tools

import _ "github.com/fluxcd/source-controller"
