//go:build tools

// Package tools pins the linters of the manifests and of the workflows.
package tools

import (
	_ "github.com/rhysd/actionlint/cmd/actionlint"
	_ "github.com/yannh/kubeconform/cmd/kubeconform"
	_ "github.com/zegl/kube-score/cmd/kube-score"
)
