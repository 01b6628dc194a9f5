package main

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// healthCheckExprs are the expressions of a Flux Kustomization for one kind.
type healthCheckExprs struct {
	InProgress string `json:"inProgress"`
	Failed     string `json:"failed"`
	Current    string `json:"current"`
}

type fluxHealth []struct {
	program cel.Program
	status  status.Status
}

// compile prepares the expressions in the environment, and in the order, of fluxcd/pkg/runtime/cel v0.110. That package
// itself brings client-go and controller-runtime along, 250 packages more to compile.
func compile(exprs healthCheckExprs) (fluxHealth, error) {
	env, err := cel.NewEnv(
		cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders(),
	)
	if err != nil {
		return nil, err
	}
	if exprs.Current == "" {
		return nil, fmt.Errorf("expression current is missing")
	}
	health := fluxHealth{}
	for _, expr := range []struct {
		text   string
		status status.Status
	}{
		{exprs.InProgress, status.InProgressStatus},
		{exprs.Failed, status.FailedStatus},
		{exprs.Current, status.CurrentStatus},
	} {
		if expr.text == "" {
			continue
		}
		// Flux only parses: an object has fields that no declaration knows of.
		ast, issues := env.Parse(expr.text)
		if issues.Err() != nil {
			return nil, fmt.Errorf("expression for %s: %w", expr.status, issues.Err())
		}
		program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize))
		if err != nil {
			return nil, fmt.Errorf("expression for %s: %w", expr.status, err)
		}
		health = append(health, struct {
			program cel.Program
			status  status.Status
		}{program, expr.status})
	}
	return health, nil
}

// judge says "Unknown: <why>" where an expression meets a field that is not there; Flux then waits until its timeout.
func (health fluxHealth) judge(object *unstructured.Unstructured) string {
	observed, found, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	if err == nil && found && observed != object.GetGeneration() {
		return string(status.InProgressStatus)
	}
	for _, expr := range health {
		value, _, err := expr.program.Eval(object.Object)
		if err != nil {
			return fmt.Sprintf("%s: %v", status.UnknownStatus, err)
		}
		holds, ok := value.(types.Bool)
		if !ok {
			return fmt.Sprintf("%s: the expression for %s is no condition", status.UnknownStatus, expr.status)
		}
		if bool(holds) {
			return string(expr.status)
		}
	}
	return string(status.InProgressStatus)
}
