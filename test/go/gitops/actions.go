package main

import (
	"encoding/json"
	"fmt"
	"sort"

	jsonpatch "github.com/evanphx/json-patch"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	luajson "layeh.com/gopher-json"
)

// actionScripts are the resource actions of one kind, as in argocd-cm.
type actionScripts struct {
	Discovery   string            `json:"discovery"`
	Definitions map[string]string `json:"definitions"`
}

type offeredAction struct {
	Name     string            `json:"name"`
	Disabled bool              `json:"disabled,omitempty"`
	Params   []actionParameter `json:"params,omitempty"`
}

type actionParameter struct {
	Name string `json:"name"`
}

// actionResult is what an action makes of an object, and the merge patch that Argo CD sends to the API server; or the error
// that Argo CD shows.
type actionResult struct {
	Object json.RawMessage `json:"object,omitempty"`
	Patch  json.RawMessage `json:"patch,omitempty"`
	Error  string          `json:"error,omitempty"`
}

type actions struct {
	Offered []offeredAction         `json:"offered"`
	Results map[string]actionResult `json:"results"`
}

// argoActions runs discovery.lua and every action.lua for the object, also those that discovery.lua disables. Every action
// gets the same parameters.
func argoActions(
	scripts actionScripts, parameters map[string]string, object *unstructured.Unstructured,
) (*actions, error) {
	offered, err := discover(scripts.Discovery, object)
	if err != nil {
		return nil, fmt.Errorf("discovery.lua: %w", err)
	}
	results := map[string]actionResult{}
	for name, script := range scripts.Definitions {
		results[name], err = act(script, parameters, object)
		if err != nil {
			results[name] = actionResult{Error: err.Error()}
		}
	}
	return &actions{Offered: offered, Results: results}, nil
}

func discover(script string, object *unstructured.Unstructured) ([]offeredAction, error) {
	text, err := returned(script, nil, object)
	if err != nil {
		return nil, err
	}
	found := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	offered := []offeredAction{}
	for name, value := range found {
		action := offeredAction{Name: name}
		// Lua's empty table becomes an empty list.
		if string(value) != "[]" {
			if err := json.Unmarshal(value, &action); err != nil {
				return nil, err
			}
		}
		offered = append(offered, action)
	}
	sort.Slice(offered, func(a, b int) bool { return offered[a].Name < offered[b].Name })
	return offered, nil
}

func act(script string, parameters map[string]string, object *unstructured.Unstructured) (actionResult, error) {
	text, err := returned(script, parameters, object)
	if err != nil {
		return actionResult{}, err
	}
	changed := map[string]any{}
	if err := json.Unmarshal(text, &changed); err != nil {
		return actionResult{}, err
	}
	after, err := json.Marshal(withMaps(changed, object.Object))
	if err != nil {
		return actionResult{}, err
	}
	before, err := object.MarshalJSON()
	if err != nil {
		return actionResult{}, err
	}
	patch, err := jsonpatch.CreateMergePatch(before, after)
	return actionResult{Object: after, Patch: patch}, err
}

// withMaps undoes what Lua does to empty maps, as Argo CD does: where the object had a map, an empty list means an empty map.
func withMaps(after, before any) any {
	switch after := after.(type) {
	case map[string]any:
		if before, ok := before.(map[string]any); ok {
			for key, value := range after {
				after[key] = withMaps(value, before[key])
			}
		}
	case []any:
		if _, ok := before.(map[string]any); ok && len(after) == 0 {
			return map[string]any{}
		}
		if before, ok := before.([]any); ok {
			for index := range after {
				if index < len(before) {
					after[index] = withMaps(after[index], before[index])
				}
			}
		}
	}
	return after
}

// returned is the table that the script returns, as JSON.
func returned(script string, parameters map[string]string, object *unstructured.Unstructured) ([]byte, error) {
	state, close, err := runLua(script, parameters, object)
	if err != nil {
		return nil, err
	}
	defer close()
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return nil, fmt.Errorf("returned a %s instead of a table", state.Get(-1).Type())
	}
	return luajson.Encode(table)
}
