//go:build tools

// Package tools pins Freeze, which draws terminal sessions.
package tools

import _ "github.com/charmbracelet/freeze"
