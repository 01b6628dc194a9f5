//go:build tools

// Package tools pins Helm, and the programs that test and document the Helm chart.
package tools

import (
	_ "github.com/helm-unittest/helm-unittest/cmd/helm-unittest"
	_ "github.com/norwoodj/helm-docs/cmd/helm-docs"
	_ "helm.sh/helm/v4/cmd/helm"
)
