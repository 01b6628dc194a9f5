// Says what Argo CD, Flux and kstatus make of Kubernetes objects, each by the library that they use themselves.
//
// It reads {"health": {kind: health.lua}, "actions": {kind: {"discovery", "definitions": {name: action.lua}}}, "parameters":
// {name: value}, "flux": {kind: {"inProgress", "failed", "current"}}, "objects": {name: object}} from stdin and writes {name:
// {"argo": {"status", "message"}, "actions": {"offered", "results": {name: {"object", "patch"} or {"error"}}}, "flux",
// "kstatus"}} to stdout. It ends with 1 and one line on stderr when a health.lua or discovery.lua fails or an expression is
// none.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type question struct {
	Health     map[string]string           `json:"health"`
	Actions    map[string]actionScripts    `json:"actions"`
	Parameters map[string]string           `json:"parameters"`
	Flux       map[string]healthCheckExprs `json:"flux"`
	Objects    map[string]json.RawMessage  `json:"objects"`
}

type answer struct {
	Argo    health        `json:"argo"`
	Actions *actions      `json:"actions"`
	Flux    string        `json:"flux"`
	Kstatus status.Status `json:"kstatus"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return err
	}
	flux := map[string]fluxHealth{}
	for kind, exprs := range asked.Flux {
		compiled, err := compile(exprs)
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		flux[kind] = compiled
	}
	answers := map[string]answer{}
	for name, text := range asked.Objects {
		judged, err := judge(asked, flux, text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		answers[name] = judged
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func judge(asked question, flux map[string]fluxHealth, text []byte) (answer, error) {
	object := &unstructured.Unstructured{}
	// Whole numbers become int64, as they do in the controllers; encoding/json alone would make float64 of them.
	if err := object.UnmarshalJSON(text); err != nil {
		return answer{}, err
	}
	kind := object.GetKind()
	argo, err := argoHealth(asked.Health[kind], object)
	if err != nil {
		return answer{}, err
	}
	actions, err := argoActions(asked.Actions[kind], asked.Parameters, object)
	if err != nil {
		return answer{}, err
	}
	result, err := status.Compute(object)
	if err != nil {
		return answer{}, err
	}
	return answer{Argo: argo, Actions: actions, Flux: flux[kind].judge(object), Kstatus: result.Status}, nil
}
