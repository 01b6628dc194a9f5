// Says what Argo CD, Flux and kstatus make of Kubernetes objects, each by the library that they use themselves.
//
// It reads {"lua": health.lua, "flux": {"inProgress", "failed", "current"}, "objects": {name: object}} from stdin and
// writes {name: {"argo": {"status", "message"}, "flux", "kstatus"}} to stdout. It ends with 1 and one line on stderr when
// health.lua fails or an expression is none.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type question struct {
	Lua     string                     `json:"lua"`
	Flux    healthCheckExprs           `json:"flux"`
	Objects map[string]json.RawMessage `json:"objects"`
}

type answer struct {
	Argo    health        `json:"argo"`
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
	flux, err := compile(asked.Flux)
	if err != nil {
		return err
	}
	answers := map[string]answer{}
	for name, text := range asked.Objects {
		answers[name], err = judge(asked.Lua, flux, text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func judge(lua string, flux fluxHealth, text []byte) (answer, error) {
	object := &unstructured.Unstructured{}
	// Whole numbers become int64, as they do in the controllers; encoding/json alone would make float64 of them.
	if err := object.UnmarshalJSON(text); err != nil {
		return answer{}, err
	}
	argo, err := argoHealth(lua, object)
	if err != nil {
		return answer{}, err
	}
	result, err := status.Compute(object)
	if err != nil {
		return answer{}, err
	}
	return answer{Argo: argo, Flux: flux.judge(object), Kstatus: result.Status}, nil
}
