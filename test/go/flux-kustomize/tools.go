//go:build tools

// Package tools pins Flux's kustomize-controller, which the tests run against a real API server.
package tools

import _ "github.com/fluxcd/kustomize-controller"
