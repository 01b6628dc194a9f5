//go:build tools

// Package tools pins Argo CD, which the tests run against a real API server.
package tools

import _ "github.com/argoproj/argo-cd/v3/cmd"
