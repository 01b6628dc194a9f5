package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// health is what a health.lua returns.
type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

var healthStatuses = map[string]bool{
	"Unknown": true, "Progressing": true, "Suspended": true, "Healthy": true, "Degraded": true, "Missing": true,
}

// argoHealth is the health of an object according to a health.lua.
func argoHealth(script string, object *unstructured.Unstructured) (health, error) {
	state, close, err := runLua(script, nil, object)
	if err != nil {
		return health{}, fmt.Errorf("health.lua: %w", err)
	}
	defer close()
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return health{}, fmt.Errorf("health.lua returned a %s instead of a table", state.Get(-1).Type())
	}
	result := health{Status: lua.LVAsString(table.RawGetString("status")), Message: lua.LVAsString(table.RawGetString("message"))}
	if !healthStatuses[result.Status] {
		return health{}, fmt.Errorf("health.lua returned %q, which is no health status", result.Status)
	}
	return result, nil
}

// runLua runs a script as Argo CD does with one from argocd-cm (util/lua in its source): the same interpreter, one second,
// the libraries package, base and table, require("os") with time and date, the object in the global obj, and what the user
// entered in the global actionParams.
func runLua(
	script string, parameters map[string]string, object *unstructured.Unstructured,
) (*lua.LState, func(), error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	closeAll := func() {
		cancel()
		state.Close()
	}
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
	} {
		call := lua.P{Fn: state.NewFunction(open), Protect: true}
		if err := state.CallByParam(call, lua.LString(name)); err != nil {
			closeAll()
			return nil, nil, err
		}
	}
	state.PreloadModule(lua.OsLibName, clockOnly)
	state.SetContext(ctx)
	entered := state.CreateTable(0, len(parameters))
	for name, value := range parameters {
		entered.RawSetString(name, lua.LString(value))
	}
	state.SetGlobal("actionParams", entered)
	state.SetGlobal("obj", luaValue(state, object.Object))
	if err := state.DoString(script); err != nil {
		closeAll()
		// Argo CD shows the error without the stack.
		if failed := (*lua.ApiError)(nil); errors.As(err, &failed) && failed.Type == lua.ApiErrorRun {
			failed.StackTrace = ""
		}
		return nil, nil, err
	}
	return state, closeAll, nil
}

// clockOnly is the part of the library os that Argo CD offers.
func clockOnly(state *lua.LState) int {
	lua.OpenOs(state)
	all, _ := state.Get(-1).(*lua.LTable)
	state.SetGlobal(lua.OsLibName, lua.LNil)
	module := state.NewTable()
	for _, name := range []string{"time", "date"} {
		module.RawSetString(name, all.RawGetString(name))
	}
	state.Push(module)
	return 1
}

func luaValue(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case float64:
		return lua.LNumber(value)
	case int64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		table := state.CreateTable(len(value), 0)
		for _, item := range value {
			table.Append(luaValue(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(value))
		for key, item := range value {
			table.RawSetString(key, luaValue(state, item))
		}
		return table
	}
	return lua.LNil
}
