//go:build tools

// Package tools pins external-dns, which the tests run against a real API server.
package tools

import _ "sigs.k8s.io/external-dns"
