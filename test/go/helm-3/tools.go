//go:build tools

// Package tools pins Helm 3, in a separate module because it needs other versions of its dependencies than Helm 4.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
