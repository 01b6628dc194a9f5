//go:build tools

// Package tools pins Helm 3, in a module of its own because it needs other versions of its dependencies than Helm 4.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
